// Listeners by the name of an event, with the words that the Socket.IO client has for them.

export class Emitter {
  #listeners = new Map();

  on(event, listener) {
    this.#listeners.set(event, [...this.listeners(event), listener]);
    return this;
  }

  once(event, listener) {
    const once = (...args) => {
      this.off(event, once);
      listener.apply(this, args);
    };
    once.listener = listener;
    return this.on(event, once);
  }

  /** Takes away one listener, all of an event, or all. */
  off(event, listener) {
    if (event === undefined) this.#listeners.clear();
    else if (listener === undefined) this.#listeners.delete(event);
    else {
      const left = [...this.listeners(event)];
      const place = left.findIndex((one) => one === listener || one.listener === listener);
      if (place >= 0) left.splice(place, 1);
      this.#listeners.set(event, left);
    }
    return this;
  }

  listeners(event) {
    return this.#listeners.get(event) ?? [];
  }

  hasListeners(event) {
    return this.listeners(event).length > 0;
  }

  emitReserved(event, ...args) {
    callAll(this, this.listeners(event), args);
    return this;
  }
}

for (const [alias, name] of Object.entries({
  addEventListener: "on", addListener: "on", removeListener: "off", removeEventListener: "off", removeAllListeners: "off",
})) {
  Emitter.prototype[alias] = Emitter.prototype[name];
}

/** Calls each; what one throws is nobody's here, and ends the program like any uncaught error. */
export function callAll(self, listeners, args) {
  for (const listener of listeners) {
    try {
      listener.apply(self, args);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }
}
