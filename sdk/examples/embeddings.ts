// Search by meaning: the text whose embedding is closest to that of the question.
import Ostiary from "ostiary";

const client = new Ostiary();
const texts = [
  "Keys are rotated without downtime.",
  "Bread needs flour and water.",
  "The log is exported as CSV.",
];
const question = "How are keys rotated?";

const { data } = await client.embeddings.create({ model: "sandbox/embedding", input: [question, ...texts] });
const [asked = [], ...others] = data.map(({ embedding }) => embedding as number[]);
// Embeddings have length 1, so that their product is the cosine of the angle between them.
const closeness = others.map((other) =>
  asked.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0),
);
const best = closeness.indexOf(Math.max(...closeness));
console.log("closest:", texts[best]);
