// The Node that keeps a pack's module warm: `node node_worker.mjs <module> <export> <max output bytes>`.
// Requests and answers are frames on standard input and output: a length in four bytes, then so many bytes of JSON.
import { readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [path, name, limit] = process.argv.slice(2);
const answers = 1;
const maxMessage = 20000;
// What the tool prints goes to standard error: standard output belongs to the frames.
Object.defineProperty(process, "stdout", { get: () => process.stderr });
console.log = console.info = console.debug = console.error;

let tool = null;
let received = Buffer.alloc(0);
let busy = Promise.resolve();

function send(text) {
  const body = Buffer.from(text, "utf8");
  const frame = Buffer.alloc(4 + body.length);
  frame.writeUInt32BE(body.length);
  body.copy(frame, 4);
  for (let sent = 0; sent < frame.length; ) {
    try {
      sent += writeSync(answers, frame, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function strict(key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError("a number that JSON does not have");
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError("a value that JSON does not have");
  return value;
}

async function load() {
  let found;
  try {
    found = await import(pathToFileURL(path));
  } catch (error) {
    throw { load: `the module cannot be imported: ${error}`.slice(0, maxMessage) };
  }
  const chosen = name ? found[name] ?? found.default?.[name] : found.default;
  if (typeof chosen !== "function") {
    throw { load: name ? `the module exports no function \`${name}\`` : "the module has no function as its default export" };
  }
  return chosen;
}

async function answer(request) {
  let value;
  try {
    tool ??= await load();
    value = await tool(request.arguments);
  } catch (error) {
    if (error && typeof error.load === "string") return { load: error.load };
    const kind = error instanceof Error ? error.name : typeof error;
    const message = String(error instanceof Error ? error.message : error).slice(0, maxMessage);
    return { raised: { classes: [["javascript", kind], ["builtins", "Exception"]], message } };
  }
  try {
    const text = JSON.stringify(value === undefined ? null : value, strict);
    const size = Buffer.byteLength(text, "utf8");
    return size > Number(limit) ? { tooLarge: size } : { text };
  } catch (error) {
    return { unusable: String(error.message).slice(0, maxMessage) };
  }
}

// A tool that leaves processes running loses them, and its worker with them.
function left() {
  try {
    return readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim() !== "";
  } catch {
    return false;
  }
}

async function serve(request) {
  const given = await answer(request);
  const more = left() ? ',"left":true' : "";
  send("text" in given ? `{"value":${given.text}${more}}` : JSON.stringify(given).slice(0, -1) + more + "}");
}

send('{"ready":true}');
process.stdin.on("data", (chunk) => {
  received = Buffer.concat([received, chunk]);
  while (received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
    const end = 4 + received.readUInt32BE();
    const request = JSON.parse(received.subarray(4, end).toString("utf8"));
    received = received.subarray(end);
    busy = busy.then(() => serve(request));
  }
});
process.stdin.on("end", () => process.exit(0));
