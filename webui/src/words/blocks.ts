// Texts of folded blocks of a model.

export const block = 'Block';
export const blockOf = (number: number, of: number) => `Block ${number} of ${of}`;
export const repeated = (op: string, times: number) => `${op === '' ? block : op} × ${times}`;
export const contents = (ops: number, each: boolean, first: string, last: string) =>
  `${ops} ops${each ? ' each' : ''}, ${first} … ${last}`;
