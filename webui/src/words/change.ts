// Texts of the form that changes the paused job.

export const warning = 'The program continues with what is changed here. It is written to the audit log and to the recording.';
export const what = 'What';
export const kinds = {
  values: 'Values of a tensor',
  learning_rate: 'Learning rate',
  skip_step: 'Skip the next step',
  restore_step: 'Take the last step back',
};
export type Kind = keyof typeof kinds;
export const explanations: Record<Kind, string> = {
  values: 'One number for all elements of the slice, or one for each, in row-major order.',
  learning_rate: 'Of all optimizers and groups of parameters, unless you name one by its number, from 0.',
  skip_step: 'The optimizers do not apply the gradients of the next step.',
  restore_step: 'Weights and optimizer state become what they were before the last step. Needs copies: capture: {tape: whole_step} in the configuration.',
};
export const tensor = 'Tensor';
export const tensorPlaceholder = 'forward/fc1/weight:0';
export const slice = 'Slice';
export const slicePlaceholder = 'all elements';
export const newValues = 'New values';
export const valuesPlaceholder = '0, or 1, 2, nan';
export const learningRate = 'New learning rate';
export const optimizer = 'Optimizer';
export const group = 'Group';
export const all = 'all';
export const rank = 'Rank';
export const allRanks = 'all ranks';
export const oneRank = (rank: number) => `rank ${rank}`;
export const apply = 'Change';
export const changed = 'Changed';
export const onRank = (rank: number, text: string) => `Rank ${rank}: ${text}`;

export const notANumber = (text: string) => `“${text}” is not a number.`;
export const enterValues = 'Enter a number, or several separated by commas.';
export const enterTensor = 'Enter a node and an output, such as forward/fc1/weight:0.';
export const enterRate = 'Enter a learning rate of 0 or more.';
export const enterNumber = (field: string) => `${field} must be a number from 0, or empty for all.`;
