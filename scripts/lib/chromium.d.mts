export declare function findChromium(env?: NodeJS.ProcessEnv): string | undefined;
