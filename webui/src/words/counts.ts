// Counts with their nouns: "1 node", "1,204 nodes".

import { formatCount } from '../base/format';

function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : nouns}`;
}

export const nodes = (count: number) => plural(count, 'node');
export const ops = (count: number) => plural(count, 'op');
export const children = (count: number) => plural(count, 'child', 'children');
export const openScopes = (count: number) => plural(count, 'open scope');
export const closedScopes = (count: number) => plural(count, 'closed scope');
export const boxes = (count: number) => plural(count, 'box', 'boxes');
export const elements = (count: number) => plural(count, 'element');
export const finiteElements = (count: number) => plural(count, 'finite element');
export const steps = (count: number) => plural(count, 'step');
export const hits = (count: number) => plural(count, 'hit');
export const watchpoints = (count: number) => plural(count, 'watchpoint');
export const libraryFrames = (count: number) => plural(count, 'library frame');
