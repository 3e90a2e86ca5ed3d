// Texts of the form for a watchpoint and of a condition's parameters.

import type { Condition } from '../api/types';

export const newWatchpoint = 'New watchpoint';
export const watchpoint = (id: number | undefined) => `Watchpoint ${id}`;
export const conditionsNotLoaded = 'Could not load conditions';
export const loadingConditions = 'Loading conditions';
export const noConditions = 'No conditions available';

// Why a condition is not offered: only PyTorch programs test it, or the program has none of its targets.
export type ReasonNotOffered = 'training' | 'weight' | 'gradient';
const whyNotOffered: Record<ReasonNotOffered, (one: boolean) => string> = {
  training: (one) => `only PyTorch programs test ${one ? 'it' : 'them'}`,
  weight: () => 'boosted trees have no weights',
  gradient: () => 'programs that only run models have no gradients',
};
export const notOffered = (reason: ReasonNotOffered, count: number) =>
  `${count === 1 ? '1 condition is' : `${count} conditions are`} not offered: ${whyNotOffered[reason](count === 1)}.`;
export const groups: Record<Condition['target'], string> = {
  tensor: 'Any tensor',
  weight: 'Weights',
  gradient: 'Gradients',
  activation: 'Activations',
  op: 'Breakpoints',
  training: 'Training that does not learn',
};
export const statistics = 'Statistics';

// "When <condition>, on <nodes>, then <pause>".
export const whenLabel = 'When';
export const onLabel = 'On';
export const thenLabel = 'Then';
export const selectedInTree = 'selected in the tree';
export const noSelectedNode = 'the selected node (none)';
export const selectedScope = (name: string) => `${name}/ and everything inside`;
export const matchingPattern = 'nodes matching a pattern';
export const adjustInTree = 'Adjust the selection in the tree.';
export const pattern = 'Pattern';
export const patternHint = '* matches within a part of a name, ** across parts, ? one character';
export const matchingNodes = 'Matching nodes';
export const noneYet: Record<Condition['target'], string> = {
  tensor: 'No nodes yet; new ones will be watched.',
  weight: 'No weights yet; new ones will be watched.',
  gradient: 'No gradients yet; new ones will be watched.',
  activation: 'No activations yet; new ones will be watched.',
  op: 'No ops yet; it stops when one is made.',
  training: 'The job itself tests this condition.',
};
// The size and cost of what is selected: "37 nodes, 12 MB per step, about +0.4 ms per step (+1.2 %)".
export const bytesPerStep = (bytes: string) => `${bytes} per step`;
export const timePerStep = (time: string, share: string | null) =>
  `about +${time} per step${share === null ? '' : ` (+${share} %)`}`;
export const more = 'More…';
export type NarrowingField = 'op_types' | 'sources' | 'dtypes' | 'ranks' | 'regexes' | 'exclude';
export const narrowingNames: Record<NarrowingField, string> = {
  op_types: 'Only op types',
  sources: 'Only lines',
  dtypes: 'Only dtypes',
  ranks: 'Only ranks',
  regexes: 'Name matches',
  exclude: 'Except',
};
export const narrowingHints: Record<NarrowingField, string> = {
  op_types: 'Types of ops, separated by commas',
  sources: 'Lines or files of the program, separated by commas; backward ops have the line of their forward op',
  dtypes: 'Types of tensors, separated by commas',
  ranks: 'Ranks, separated by commas',
  regexes: 'A regular expression that is found anywhere in the full name',
  exclude: 'What is left out: names, scope/, patterns, /regex/, type:, source:, dtype:, rank:, separated by spaces',
};
export const narrowingExamples: Record<NarrowingField, string> = {
  op_types: 'addmm, relu',
  sources: 'model.py:32',
  dtypes: 'float16, bfloat16',
  ranks: '0, 1',
  regexes: 'layers/[0-3]/',
  exclude: 'type:relu aux/',
};
export const ignoredHits = 'Ignore first';
export const ignoredHitsHint = 'Hits of each rank that stop nothing and are not listed';
export const once = 'Once';
export const onceHint = 'The first hit disables the watchpoint';
export const notARank = (text: string) => `"${text}" is no rank.`;
export const pauseAtOp = 'pause at op';
export const pauseAtEndOfStep = 'pause at end of step';
export const logOnly = 'log without pausing';
export const save = 'Save';
export const add = 'Add';

export const enterPattern = 'Enter a pattern.';
export const selectNodeOrScope = 'Select a node or scope first.';
export const selectInTree = 'Select a node or scope in the tree first.';

// Parameters.
export const defaultValue = (value: string) => `default ${value}`;
export const between = (low: string, high: string) => `${low} … ${high}`;
export const above = (value: string) => `above ${value}`;
export const atLeast = (value: string) => `at least ${value}`;
export const atMost = (value: string) => `at most ${value}`;
export const percent = 'percent';
export const enterExpression = 'Enter an expression, for example abs_max > 1e3 && step > 100.';
export const expressionPlaceholder = 'abs_max > 1e3 && step > 100';
export const notANumber = (name: string) => `${name} must be a number.`;
export const enterOneOf = (names: readonly string[]) =>
  names.length === 1 ? `Enter a number for ${names[0]}.` : `Enter a number for at least one of ${names.join(', ')}.`;
export const numberPlaceholder = 'a number, e.g. 1000 or 1e-6';
export const notTested = 'not tested';
export const namesAndOperators = 'Names and operators';
export const advanced = 'Advanced';
// The values of parameters that have only a few.
export const choices: Readonly<Record<string, string>> = { list: 'list only', stop: 'stop there' };
