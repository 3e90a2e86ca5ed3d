export function buildGraph(blocks?: number, kind?: string): { nodes: Array<{ name: string }> };
export const HOSTILE: string[];
