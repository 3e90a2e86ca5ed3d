// The training graph of a small CNN, as the PyTorch adapter would report it: the forward
// pass by module, the backward pass by the module of the forward op, and the optimizer.

const SCRIPT = 'examples/digits_cnn.py';
const LIBRARY = 'torch/nn/modules/module.py';

class Builder {
  nodes = [];
  byName = new Map();
  classes = new Map();

  add(scope, label, kind, op_type, category, shape, inputs, line, dtype = 'float32') {
    let name = `${scope}/${label}`;
    for (let i = 1; this.byName.has(name); i += 1) name = `${scope}/${label}_${i}`;
    const node = {
      name,
      kind,
      op_type,
      category,
      inputs: inputs.map((input) => input.name),
      outputs: [{ slot: 0, dtype, shape }],
      order: this.nodes.length + 1,
      source: line && { file: SCRIPT, line: line[0], text: line[1], function: line[2] ?? 'forward' },
    };
    this.nodes.push(node);
    this.byName.set(name, node);
    return node;
  }

  op(scope, label, shape, inputs, line, category = 'activation') {
    return this.add(scope, label, 'op', `aten::${label}`, category, shape, inputs, line);
  }

  parameter(scope, label, shape) {
    return this.add(scope, label, 'parameter', '', 'weight', shape, [], null);
  }
}

function conv(b, scope, input, [batch, from, to, size], line) {
  b.classes.set(scope, 'Conv2d');
  const weight = b.parameter(scope, 'weight', [to, from, 3, 3]);
  const bias = b.parameter(scope, 'bias', [to]);
  return b.op(scope, 'convolution', [batch, to, size, size], [input, weight, bias], line);
}

function norm(b, scope, input, line) {
  b.classes.set(scope, 'BatchNorm2d');
  const shape = input.outputs[0].shape;
  const weight = b.parameter(scope, 'weight', [shape[1]]);
  const bias = b.parameter(scope, 'bias', [shape[1]]);
  const mean = b.add(scope, 'running_mean', 'buffer', '', 'other', [shape[1]], [], null);
  const variance = b.add(scope, 'running_var', 'buffer', '', 'other', [shape[1]], [], null);
  return b.op(scope, 'native_batch_norm', shape, [input, weight, bias, mean, variance], line);
}

function linear(b, scope, input, from, to, line) {
  b.classes.set(scope, 'Linear');
  const weight = b.parameter(scope, 'weight', [to, from]);
  const bias = b.parameter(scope, 'bias', [to]);
  const turned = b.op(scope, 't', [from, to], [weight], line);
  return b.op(scope, 'addmm', [input.outputs[0].shape[0], to], [bias, input, turned], line);
}

function block(b, scope, input, channels, size) {
  b.classes.set(scope, 'ResidualBlock');
  const batch = input.outputs[0].shape[0];
  const dims = [batch, channels, channels, size];
  const first = conv(b, `${scope}/conv1`, input, dims, [21, 'y = self.conv1(x)']);
  const normed = norm(b, `${scope}/bn1`, first, [21, 'y = self.bn1(self.conv1(x))']);
  const relu = b.op(scope, 'relu', normed.outputs[0].shape, [normed], [22, 'y = y.relu()']);
  const second = conv(b, `${scope}/conv2`, relu, dims, [23, 'y = self.conv2(y)']);
  const third = norm(b, `${scope}/bn2`, second, [23, 'y = self.bn2(self.conv2(y))']);
  const sum = b.op(scope, 'add', third.outputs[0].shape, [third, input], [24, 'return (x + y).relu()']);
  return b.op(scope, 'relu', sum.outputs[0].shape, [sum], [24, 'return (x + y).relu()']);
}

function forward(b, blocks) {
  b.classes.set('forward', 'DigitsCNN');
  const image = b.add('forward', 'x', 'input', '', 'other', [64, 1, 8, 8], [], null);
  const target = b.add('forward', 'y', 'input', '', 'other', [64], [], null, 'int64');
  const stem = conv(b, 'forward/stem', image, [64, 1, 16, 8], [34, 'x = self.stem(x)']);
  let x = b.op('forward', 'relu', stem.outputs[0].shape, [stem], [34, 'x = self.stem(x).relu()']);
  b.classes.set('forward/blocks', 'Sequential');
  for (let i = 0; i < blocks; i += 1) x = block(b, `forward/blocks/${i}`, x, 16, 8);
  x = b.op('forward', 'max_pool2d', [64, 16, 4, 4], [x], [36, 'x = F.max_pool2d(x, 2)']);
  x = b.op('forward', 'view', [64, 256], [x], [37, 'x = x.flatten(1)']);
  x = linear(b, 'forward/fc1', x, 256, 64, [38, 'x = self.fc1(x).relu()']);
  x = b.op('forward', 'relu', [64, 64], [x], [38, 'x = self.fc1(x).relu()']);
  const logits = linear(b, 'forward/fc2', x, 64, 10, [39, 'return self.fc2(x)']);
  const where = 'loss_fn';
  const soft = b.op('forward', '_softmax', [64, 10], [logits], [52, 'p = torch.softmax(logits, dim=1)', where]);
  const log = b.op('forward', 'log', [64, 10], [soft], [53, 'logp = torch.log(p)', where]);
  const picked = b.op('forward', 'gather', [64, 1], [log, target], [54, 'picked = logp.gather(1, y[:, None])', where]);
  const mean = b.op('forward', 'mean', [], [picked], [55, 'return -picked.mean()', where]);
  return b.op('forward', 'neg', [], [mean], [55, 'return -picked.mean()', where]);
}

const BACKWARD_NAMES = {
  convolution: ['convolution_backward'],
  native_batch_norm: ['native_batch_norm_backward'],
  relu: ['threshold_backward'],
  addmm: ['t', 'mm', 'mm', 'sum'],
  log: ['div'],
  _softmax: ['_softmax_backward_data'],
  max_pool2d: ['max_pool2d_with_indices_backward'],
  gather: ['new_zeros', 'scatter_add_'],
  add: [],
  t: ['t'],
};

function backward(b, loss) {
  const line = [71, 'loss.backward()', 'train'];
  let gradient = b.op('backward', 'ones_like', [], [loss], line, 'gradient');
  const ops = b.nodes.filter((node) => node.kind === 'op' && node.name.startsWith('forward/'));
  for (const node of ops.toReversed()) {
    const path = node.name.slice('forward/'.length);
    const scope = path.includes('/') ? `backward/${path.slice(0, path.lastIndexOf('/'))}` : 'backward';
    const label = path.slice(path.lastIndexOf('/') + 1).replace(/_\d+$/, '');
    const input = b.byName.get(node.inputs[0]);
    const shape = input.kind === 'op' ? input.outputs[0].shape : node.outputs[0].shape;
    for (const name of BACKWARD_NAMES[label] ?? [label]) {
      const from = [gradient, node].slice(0, name === 't' ? 1 : 2);
      gradient = b.op(scope, name, shape, from, node.source ? [node.source.line, node.source.text, node.source.function] : line, 'gradient');
    }
  }
  const classes = Array.from(b.classes);
  for (const [scope, name] of classes) b.classes.set(scope.replace(/^forward/, 'backward'), name);
  return gradient;
}

function optimizer(b, gradient) {
  const parameters = b.nodes.filter((node) => node.kind === 'parameter');
  const line = [72, 'optimizer.step()', 'train'];
  const scope = 'optimizer/SGD';
  const momentum = b.op(scope, '_foreach_mul_', [16, 16, 3, 3], [gradient], line, 'optimizer');
  const sum = b.op(scope, '_foreach_add_', [16, 16, 3, 3], [momentum, gradient], line, 'optimizer');
  b.op(scope, '_foreach_add_', [16, 16, 3, 3], [sum, ...parameters.slice(0, 3)], line, 'optimizer');
}

// Hostile names, which the page must show as plain text.
export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)<\\script>',
  '\u202Egnp.exe',
  '"\'`${1}&amp;%2F?#[*]',
  '__proto__',
  'constructor',
  'größe 重み 👩',
  'x'.repeat(4000),
];

function hostile(b) {
  let last = b.add('forward', 'x', 'input', '', 'other', [1], [], null);
  for (const label of HOSTILE) {
    last = b.op(`forward/${label}`, label, [1], [last], [7, label, label]);
    b.classes.set(`forward/${label}`, label);
  }
  return b;
}

// Layers of a hundred ops each, up to the given number of nodes.
function large(b, count) {
  let last = b.add('forward', 'x', 'input', '', 'other', [64, 64], [], null);
  for (let i = 0; b.nodes.length < count; i += 1) {
    const scope = `forward/layers/${Math.floor(i / 100)}/block${Math.floor(i / 10) % 10}`;
    last = b.op(scope, `mul_${i}`, [64, 64], [last], [20 + (i % 50), 'x = x * x']);
  }
  return b;
}

// A model as an ONNX file has it: no scopes, names that say nothing, and blocks with branches.
function model(b, blocks) {
  let last = b.add('net', 'x', 'input', '', 'other', [1, 3, 32, 32], [], null);
  let count = 0;
  const op = (type, inputs, shape, attributes = {}) => {
    const node = b.add('net', `n${count++}`, 'op', type, 'activation', shape, inputs, null);
    node.own = attributes;
    return node;
  };
  const convolution = (input, from, to, size) => {
    const weight = b.parameter('net', `w${count}`, [to, from, size, size]);
    const bias = b.parameter('net', `b${count}`, [to]);
    const sizes = { kernel_shape: `[${size}, ${size}]`, pads: `[${Array(4).fill((size - 1) / 2).join(', ')}]`, strides: '[1, 1]' };
    return op('Relu', [op('Conv', [input, weight, bias], [1, to, 32, 32], sizes)], [1, to, 32, 32]);
  };
  last = convolution(last, 3, 16, 7);
  for (let i = 0; i < blocks; i += 1) {
    const pool = op('MaxPool', [last], [1, 16, 32, 32], { kernel_shape: '[3, 3]', pads: '[1, 1, 1, 1]', strides: '[1, 1]' });
    const branches = [convolution(last, 16, 4, 1), convolution(convolution(last, 16, 4, 1), 4, 4, 3), convolution(pool, 16, 8, 1)];
    last = op('Concat', branches, [1, 16, 32, 32], { axis: '1' });
  }
  op('Softmax', [op('GlobalAveragePool', [last], [1, 16, 1, 1])], [1, 16, 1, 1], { axis: '1' });
  return b;
}

function finish(b) {
  for (const node of b.nodes) {
    node.stack = node.source ? [{ ...node.source, user: true }] : [];
    node.attributes = node.own ?? {};
  }
  return b;
}

export function buildGraph(blocks = 2, kind = 'cnn') {
  const b = new Builder();
  if (kind === 'hostile') return finish(hostile(b));
  if (kind === 'model') return finish(model(b, 12));
  if (kind === 'large') return finish(large(b, 100_000));
  const loss = forward(b, blocks);
  optimizer(b, backward(b, loss));
  for (const node of b.nodes) {
    node.stack = node.source
      ? [
          { ...node.source, user: true },
          { file: LIBRARY, line: 1779, function: '_call_impl', text: 'return forward_call(*args, **kwargs)', user: false },
          { file: SCRIPT, line: 70, function: 'train', text: 'loss = loss_fn(model(x), y)', user: true },
          { file: SCRIPT, line: 88, function: '<module>', text: 'train(model, loader)', user: true },
        ]
      : [];
    node.attributes = node.op_type === 'aten::convolution' ? { stride: '[1, 1]', padding: '[1, 1]', groups: '1' } : {};
  }
  return b;
}
