/** The environment variables with which Go compiles a program that uses golang.org/x/mod. @throws Error that says what to install */
export function goEnvironment(): NodeJS.ProcessEnv;
