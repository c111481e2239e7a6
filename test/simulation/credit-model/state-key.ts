import type { State } from "./state.ts";

/** A number that is the same for equal states: 53 bits of a hash. Among a million states two are mistaken for one with a probability of 1 in 20,000. */
export function keyOf(state: State): number {
  return hashOf(textOf(state));
}

function textOf(state: State): string {
  const { db } = state;
  const counts = `${db.free},${db.next},${db.key},${db.collected},${db.uncollected},${db.late},${db.repeated},${db.keyedCharged}`;
  let text = `${state.nextId},${state.cost},${state.over},${state.seen},${state.lost};${Object.values(state.left)};${counts},${db.entries};${db.released}`;
  for (const { id, granted, charged, number } of db.spenders)
    text += `;${id},${granted},${charged},${number}`;
  for (const node of state.nodes) {
    text += `|${node.phase},${node.incarnation},${node.spender},${node.number},${node.granted},${node.settled},${node.unsure},${node.waits},${node.cut},${node.turning},${node.closes},${node.newest}`;
    for (const hold of node.holds) {
      text += `;${hold.id},${hold.spender},${hold.amount},${hold.key},${hold.kept},${hold.forgotten}`;
    }
    for (const line of node.journal)
      text += `/${line.id},${line.spender},${line.cost},${line.real},${line.key}`;
  }
  return (
    text +
    state.net
      .map((message) => message.text)
      .sort()
      .join()
  );
}

function hashOf(text: string): number {
  let one = 0xdeadbeef;
  let two = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return 4294967296 * (2097151 & two) + (one >>> 0);
}
