// Attributes of ONNX ops in one short line, such as "3×3 · stride 2 · pad 1".

type Attributes = Readonly<Record<string, unknown>>;

// "[3, 3]" and "3" as numbers; null for other texts.
function numbersIn(value: unknown): number[] | null {
  const text = String(value).replace(/^\[|\]$/g, '');
  const found = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  return found.some(Number.isNaN) ? null : found;
}

function sizes(value: unknown): string {
  const numbers = numbersIn(value);
  if (numbers === null) return String(value);
  return numbers.every((number) => number === numbers[0]) ? String(numbers[0]) : numbers.join('×');
}

const isAll = (value: unknown, number: number) => numbersIn(value)?.every((other) => other === number) ?? false;

// Windows of convolutions and pooling; what has its default is left out.
function windowOf({ kernel_shape, strides, pads, auto_pad, group, dilations }: Attributes): string[] {
  const parts: string[] = [];
  if (kernel_shape !== undefined) parts.push(numbersIn(kernel_shape)?.join('×') ?? String(kernel_shape));
  if (strides !== undefined && !isAll(strides, 1)) parts.push(`stride ${sizes(strides)}`);
  if (pads !== undefined && !isAll(pads, 0)) parts.push(`pad ${sizes(pads)}`);
  else if (auto_pad !== undefined && !/NOTSET|VALID/.test(String(auto_pad))) parts.push('pad same');
  if (group !== undefined && !isAll(group, 1)) parts.push(`group ${sizes(group)}`);
  if (dilations !== undefined && !isAll(dilations, 1)) parts.push(`dilation ${sizes(dilations)}`);
  return parts;
}

const named = (...names: string[]) => (attributes: Attributes) =>
  names.flatMap((name) => (attributes[name] === undefined ? [] : [`${name} ${String(attributes[name]).replace(/^\[|\]$/g, '')}`]));

const SHORT: Readonly<Record<string, (attributes: Attributes) => string[]>> = {
  Conv: windowOf,
  ConvTranspose: windowOf,
  MaxPool: windowOf,
  AveragePool: windowOf,
  BatchNormalization: named('epsilon'),
  LayerNormalization: named('axis', 'epsilon'),
  Gemm: named('transA', 'transB'),
  Concat: named('axis'),
  Split: named('axis'),
  Gather: named('axis'),
  Softmax: named('axis'),
  LogSoftmax: named('axis'),
  Transpose: named('perm'),
  Cast: named('to'),
  LeakyRelu: named('alpha'),
  LRN: named('size', 'alpha', 'beta'),
  ReduceMean: named('axes', 'keepdims'),
  ReduceSum: named('axes', 'keepdims'),
};

export const hasShortAttributes = (opType: string) => Object.hasOwn(SHORT, opType);

// Empty if none of the attributes says more than the type.
export function shortAttributes(opType: string, attributes: Attributes): string {
  return SHORT[opType]?.(attributes).join(' · ') ?? '';
}
