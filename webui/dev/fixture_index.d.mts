export function graphIndex(graph: unknown): Uint8Array;
