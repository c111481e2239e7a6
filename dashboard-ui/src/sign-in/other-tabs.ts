/** What a tab tells the others of the browser, which have the same session. */
type SessionNews = "signed in" | "signed out";

const CHANNEL = "session";

/** Tells the other tabs that the user has signed in or out. */
export function tellOtherTabs(news: SessionNews): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(news);
  channel.close();
}

/** Calls the listener when the user has signed in or out in another tab. */
export function onNewsOfOtherTabs(listener: (news: SessionNews) => void): void {
  new BroadcastChannel(CHANNEL).addEventListener("message", ({ data }) => listener(data));
}
