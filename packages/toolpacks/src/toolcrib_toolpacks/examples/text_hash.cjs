// Prints the checksum of a text: reads `text` as JSON, prints JSON.
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");

const algorithm = process.argv[2];
const { text } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ algorithm, hex: createHash(algorithm).update(text, "utf8").digest("hex") }));
