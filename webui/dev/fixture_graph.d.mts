export function buildGraph(blocks?: number): { nodes: Array<{ name: string }> };
