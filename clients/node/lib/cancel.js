// Many calls may wait with one AbortSignal, such as that of a program's end; Node.js takes more than ten listeners on one
// for a leak.

const waiting = new WeakMap();

/** Does `action` when the signal is aborted; returns what takes that back. Without a signal it does nothing. */
export function onAbort(signal, action) {
  if (!signal) return () => {};
  let actions = waiting.get(signal);
  if (!actions) {
    actions = new Set();
    waiting.set(signal, actions);
    signal.addEventListener("abort", () => [...actions].forEach((one) => one()), { once: true });
  }
  actions.add(action);
  return () => actions.delete(action);
}
