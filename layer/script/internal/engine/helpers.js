// This runs once in the realm of the documents, after the prelude. It returns the functions that Go calls there.
(function () {
  'use strict';
  const keys = Reflect.ownKeys;
  const freeze = Object.freeze;
  const frozen = Object.isFrozen;

  function deepFreeze(value) {
    if (typeof value === 'object' && value !== null && !frozen(value)) {
      freeze(value);
      for (const key of keys(value)) {
        deepFreeze(value[key]);
      }
    }
  }

  // A function can reach the prototypes of this realm through its document. The next function would see its changes.
  (function freezeAll(value, seen) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) {
      return;
    }
    seen.add(value);
    for (const key of keys(value)) {
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      for (const part of [property.value, property.get, property.set]) {
        freezeAll(part, seen);
      }
    }
    freezeAll(Reflect.getPrototypeOf(value), seen);
    freeze(value);
  })(globalThis, new Set());

  return [deepFreeze];
})()
