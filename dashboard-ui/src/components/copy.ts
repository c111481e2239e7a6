/** Copies a text. Resolves to whether the browser has allowed it. */
export async function copyText(text: string): Promise<boolean> {
  // Pages that were loaded over HTTP from another machine have no clipboard, but the command.
  if (navigator.clipboard === undefined) return copyByCommand(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

/** Puts the text in the place of what the browser's command would copy: the selection. */
function copyByCommand(text: string): boolean {
  let isCopied = false;
  const onCopy = (event: ClipboardEvent) => {
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
    isCopied = event.clipboardData !== null;
  };
  document.addEventListener("copy", onCopy, { capture: true });
  try {
    return document.execCommand("copy") && isCopied;
  } finally {
    document.removeEventListener("copy", onCopy, { capture: true });
  }
}
