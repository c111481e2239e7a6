/** The name of the key that begins a command: Apple's keyboards have another one. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
