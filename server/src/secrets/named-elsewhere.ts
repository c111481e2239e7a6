/** The name of a variable as people write it. A secret of this form has both lower case letters and digits. */
const VARIABLE = /^(?!.*[a-z].*\d|.*\d.*[a-z])[A-Za-z_]\w{0,63}$/;
/** A path that is absolute, or relative to a folder that it names by dots. */
const PATH = /^(?:\.{0,2}\/|~\/|[A-Za-z]:[\\/])/;
/** 32 bytes in base64, which may begin with a slash; a key or a certificate in PEM. */
const NO_PATH = /^[A-Za-z0-9+/]{43}=$|-----BEGIN|[\r\n]/;

/**
 * The name of a variable for a message that says that it is not set. Where a setting takes the name of a variable, people also write the secret
 * itself, which no log may repeat.
 */
export function variableForMessage(name: string): string {
  return VARIABLE.test(name) ? `the variable ${name}` : "the variable that it names";
}

/** The path of a file for a message that says that it cannot be used, as {@link variableForMessage}. */
export function fileForMessage(path: string): string {
  return PATH.test(path) && !NO_PATH.test(path) ? `the file ${path}` : "the file that it names";
}

/**
 * An entry of a list for a message that says that it is wrong. People also write the URL of a proxy with its password where a list of hosts or
 * addresses belongs.
 */
export function entryForMessage(entry: string): string {
  return entry.includes("@") ? "an entry with a user or password" : `"${entry}"`;
}
