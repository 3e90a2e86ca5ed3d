// Texts about an opened model, which is not run.

export const notRun = 'Model, not run';
export const notRunHint = 'The file was opened and nothing is executed: it has a graph and weights, but no other values.';
export const model = 'Model';
export const node = 'Node properties';
export const wholeModel = 'Whole model';
export const file = 'File';
export const ops = 'Ops';
export const weights = 'Weights';
export const weightsOf = (count: string, elements: string) => `${count}, ${elements}`;
export const inputs = 'Inputs';
export const outputs = 'Outputs';
export const attributes = 'Attributes';
export const opTypes = 'Ops by type';
export const contents = 'Contents';
export const type = 'Type';
export const name = 'Name';
export const unknownShape = 'shape unknown';
export const statistics = (min: string, max: string, mean: string) => `${min} … ${max}, mean ${mean}`;
export const runTitle = 'Run with random inputs';
export const runHint = 'In a terminal, in the folder of the file:';
export const runCommand = (file: string) => `graphdbg run -- ${/^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`} --random-inputs`;
export const copyCommand = 'Copy command';
export const firstSteps: Array<[string, string]> = [
  ['Look around', 'open blocks in the graph or in the tree'],
  ['Inspect', 'select an op for its attributes, or a weight for its values'],
];
