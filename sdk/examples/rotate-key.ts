// Rotates a key without downtime. `rotate-key.ts start <name>` prints a successor to deploy. `rotate-key.ts finish`, once a day, revokes
// the keys that have not been used since their successors were. Needs OSTIARY_MANAGEMENT_TOKEN.
import Ostiary from "ostiary";

const client = new Ostiary();
const [command, name] = process.argv.slice(2);

if (command === "start") {
  const old = (await client.keys.list()).find((key) => key.name === name && key.state === "active");
  if (old === undefined) throw new Error(`There is no active key with the name ${name}.`);
  const successor = await client.keys.rotate(old.id, { idleAfterSeconds: 3600 });
  console.error("Deploy the key below. The old one keeps working until it is revoked.");
  console.log(successor.key); // not shown again
} else if (command === "finish") {
  for (const { id, name, state, rotation } of await client.keys.list()) {
    if (state !== "active" || rotation === null) continue;
    if (rotation.isIdle) await client.keys.revoke(id);
    console.log(name, rotation.isIdle ? "is revoked" : "is still in use");
  }
} else {
  console.error("Use: rotate-key.ts start <name> | finish");
  process.exitCode = 2;
}
