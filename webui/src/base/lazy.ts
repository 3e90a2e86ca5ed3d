// Calls `make` the first time the value is needed, and returns the same value from then on.
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
