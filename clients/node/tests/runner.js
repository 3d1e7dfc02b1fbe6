// Performs the steps of clients/scenarios.json: JSON lines in, JSON lines out. `{"id":1,"op":"request","with":{…}}` is
// answered with `{"id":1,"value":…}` or `{"id":1,"error":{"type":…}}`, each when it is done.

import { createInterface } from "node:readline";
import { Gateway } from "../index.js";
import { parse, stringify } from "../lib/payload.js";

const gateway = new Gateway({ client: "scenarios" });
const subscriptions = new Map();
const running = new Map();

const operations = {
  async subscribe({ name, target, events, ...options }, signal) {
    const subscription = gateway.subscribe(target, events, camelCased(options));
    subscriptions.set(name, subscription);
    await subscription.ready;
    return {};
  },
  async next({ name, count }) {
    const items = [];
    while (items.length < count) {
      const { value, done } = await subscriptions.get(name).next();
      if (done) throw new Error("the subscription has ended");
      items.push(shown(value));
    }
    return items;
  },
  async unsubscribe({ name }) {
    subscriptions.get(name).close();
    return {};
  },
  position: async ({ name }) => subscriptions.get(name).position,
  async send({ target, event, args, ...options }, signal) {
    const { state, duplicate = false } = await gateway.send(target, event, args, { ...camelCased(options), signal });
    return { state, duplicate };
  },
  async request({ target, event, args, ...options }, signal) {
    const answer = await gateway.request(target, event, args, { ...camelCased(options), signal });
    return { args: answer.args };
  },
  wait: ({ target, state, timeout }, signal) => gateway.wait(target, state, { timeout, signal }),
  state: ({ target }) => gateway.state(target),
  async history({ target, events, ...options }) {
    const past = await gateway.history(target, events, camelCased(options));
    return { events: past.events.map(({ event, args }) => ({ event, args })), complete: past.complete };
  },
  call: ({ method, params }, signal) => gateway.call(method, params, { signal }),
};

function shown(item) {
  if (item.type === "event") return { event: item.event, args: item.args };
  return item.type === "gap" ? { gap: item.reason } : { state: item.state };
}

function camelCased(options) {
  return Object.fromEntries(Object.entries(options).map(([key, value]) =>
    [key.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]));
}

function tell(answer) {
  process.stdout.write(stringify(answer) + "\n");
}

async function perform({ id, op, with: parameters = {} }) {
  if (op === "cancel") {
    running.get(parameters.id).abort();
    return tell({ id, value: {} });
  }
  const canceller = new AbortController();
  running.set(id, canceller);
  try {
    tell({ id, value: await operations[op](parameters, canceller.signal) });
  } catch (error) {
    const { type, code, retry, reason, advice } = error;
    tell({ id, error: error.name === "AbortError" ? { type: "Cancelled" } : { type: type ?? String(error), code, retry, reason, advice } });
  } finally {
    running.delete(id);
  }
}

for await (const line of createInterface({ input: process.stdin })) perform(parse(line));
gateway.close();
