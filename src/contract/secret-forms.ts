/*
 * The secrets that no text may hold: private keys, and the tokens of providers that many agents use. A form is as narrow as
 * its provider's description of it, so that ordinary texts never match. Measure that on real texts before you add a form.
 */

/** A kind of secret. */
export interface SecretForm {
  /** What it is called in an error: `a token of GitHub`. */
  readonly name: string;
  /** A global expression. The group `secret` is the part that is random. */
  readonly form: RegExp;
}

/** A token that is not a part of a longer word. */
const token = (form: string) => new RegExp(`(?<![A-Za-z0-9_-])${form}(?![A-Za-z0-9_-])`, "g");

/** All kinds. */
export const secretForms: readonly SecretForm[] = [
  // RFC 7468; also RFC 9580 (OpenPGP). A line of base64 makes the difference between a key and talk of one.
  {
    name: "a private key",
    form: /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,400}?(?<secret>[A-Za-z0-9+/]{60})/g,
  },
  // The key of a note's signer (C2SP signed-note), such as the key of a board's log.
  {
    name: "the private key of a log",
    form: /PRIVATE\+KEY\+[^\s+]{1,200}\+[0-9a-f]{8}\+(?<secret>[A-Za-z0-9+/]{44})/g,
  },
  { name: "a secret key of age", form: token("AGE-SECRET-KEY-1(?<secret>[A-Z0-9]{58})") },
  { name: "an API key of Anthropic", form: token("sk-ant-(?:api|admin|oat)\\d\\d-(?<secret>[A-Za-z0-9_-]{80,120})") },
  { name: "an API key of OpenAI", form: token("sk-(?:proj|svcacct|admin)-(?<secret>[A-Za-z0-9_-]{40,200})") },
  { name: "an API key of OpenAI", form: token("sk-(?<secret>[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})") },
  { name: "an API key of Google", form: token("AIza(?<secret>[A-Za-z0-9_-]{35})") },
  { name: "a client secret of Google", form: token("GOCSPX-(?<secret>[A-Za-z0-9_-]{28})") },
  { name: "an access key of AWS", form: token("(?:AKIA|ASIA)(?<secret>[A-Z2-7]{16})") },
  { name: "an account key of Azure", form: /AccountKey=(?<secret>[A-Za-z0-9+/]{86})==/g },
  { name: "a token of GitHub", form: token("gh[pousr]_(?<secret>[A-Za-z0-9]{36})") },
  { name: "a token of GitHub", form: token("github_pat_(?<secret>[A-Za-z0-9]{22}_[A-Za-z0-9]{59})") },
  { name: "a token of GitLab", form: token("gl(?:pat|ptt|dt|rt)-(?<secret>[A-Za-z0-9_-]{20,64})") },
  { name: "a token of Slack", form: token("xox[abpr]-(?<secret>\\d{10,13}-\\d{10,13}-[A-Za-z0-9-]{20,100})") },
  { name: "a key of Stripe", form: token("[sr]k_live_(?<secret>[A-Za-z0-9]{24,200})") },
  { name: "a token of npm", form: token("npm_(?<secret>[A-Za-z0-9]{36})") },
  { name: "a token of PyPI", form: token("pypi-AgEIcHlwaS5vcmc(?<secret>[A-Za-z0-9_-]{50,200})") },
  { name: "a token of Hugging Face", form: token("hf_(?<secret>[A-Za-z0-9]{34})") },
  { name: "a key of SendGrid", form: token("SG\\.(?<secret>[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43})") },
  { name: "a token of DigitalOcean", form: token("do[opr]_v1_(?<secret>[a-f0-9]{64})") },
];

/**
 * Every match of a form contains one of these, and so does an API key of this board. A text without any needs no closer look.
 */
export const secretBegins =
  /PRIVATE[ +]KEY|AGE-SECRET|sk-|AIza|GOCSPX|A[KS]IA|AccountKey=|gh[pousr]_|github_pat|gl(?:pat|ptt|dt|rt)-|xox[abpr]-|k_live_|npm_|pypi-|hf_|SG\.|do[opr]_v1|stoa_/;

/** The API keys of this board in a text, also where one begins within another. */
export const apiKeysInText = /(?=(stoa_[A-Za-z0-9_-]{43}))/g;
