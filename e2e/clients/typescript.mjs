// typescript.mjs plays one scenario with the MCP TypeScript SDK.
//
// It reads the scenario, a JSON object, from standard input and prints one JSON
// object a line: one for each step, in order. README.md in this folder says what
// both look like; python.py plays the same scenarios.
import { readFileSync } from "node:fs";

const scenario = JSON.parse(readFileSync(0, "utf8"));

// The v1 SDK speaks the handshake protocol only, the v2 SDK the stateless one too.
const v2 = scenario.era === "modern";
const { Client, StdioClientTransport } = v2
  ? {
      ...(await import("@modelcontextprotocol/client")),
      ...(await import("@modelcontextprotocol/client/stdio")),
    }
  : {
      ...(await import("@modelcontextprotocol/sdk/client/index.js")),
      ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    };
const rootsList = v2
  ? "roots/list"
  : (await import("@modelcontextprotocol/sdk/types.js")).ListRootsRequestSchema;

let answer = scenario.roots;
let asked = 0;
let held = []; // what lets the requests that are kept waiting go on

async function answerRoots() {
  asked++;
  if (answer.silent) {
    await new Promise((resolve) => held.push(resolve));
  }
  if (answer.error) {
    // The SDK sends code and message of whatever is thrown.
    throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
  }
  return { roots: answer.roots };
}

const capabilities = answer ? { roots: { listChanged: true } } : {};
const options = { capabilities };
if (v2) {
  options.versionNegotiation = { mode: { pin: "2026-07-28" } };
}
const client = new Client({ name: "rootbound-e2e-typescript", version: "1" }, options);
if (answer) {
  client.setRequestHandler(rootsList, answerRoots);
}

const steps = {
  async tools() {
    const { tools } = await client.listTools();
    return { tools: tools.map((tool) => tool.name) };
  },
  async call({ tool, args }) {
    const result = await client.callTool({ name: tool, arguments: args });
    return {
      isError: result.isError ?? false,
      text: result.content.map((block) => block.text).join("\n"),
      structured: result.structuredContent ?? null,
      meta: result._meta ?? null,
    };
  },
  // From here on the client has another answer, and says so where the protocol
  // has a word for it.
  async change(step) {
    answer = step.answer;
    if (!v2) {
      await client.sendRootsListChanged();
    }
    return {};
  },
  // The requests that were kept waiting are answered now, and nothing is said.
  async release(step) {
    answer = step.answer;
    const waiting = held;
    held = [];
    waiting.forEach((resolve) => resolve());
    // The SDK writes its answer some ticks after the handler returned.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { released: waiting.length };
  },
};

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");

await client.connect(
  new StdioClientTransport({ command: scenario.command, args: scenario.args, stderr: "inherit" }),
);
for (const step of scenario.steps) {
  const start = performance.now();
  let line;
  try {
    line = await steps[step.do](step);
  } catch (err) {
    line = { failure: { code: err.code ?? 0, message: String(err.message) } };
  }
  print({ ...line, ms: Math.round(performance.now() - start), asked });
}
await client.close();
