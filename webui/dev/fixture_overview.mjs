// The overview of the fixture server's jobs: synthetic figures of modules over steps.
import { Refusal } from './refusal.mjs';

const MEASURES = ['activation', 'zeros', 'non_finite', 'gradient', 'update', 'time'];
const MAX_STEPS = 1000;
// The steps whose ops are kept.
const OP_STEPS = 16;
// What is not finite starts outside of modules and reaches the last layer.
const BAD = { '': 3, fc2: 1 };

// Deterministic noise from 0 to 1.
function noise(a, b) {
  const x = Math.sin(a * 127.1 + b * 311.7) * 43758.5453;
  return x - Math.floor(x);
}

// The modules with ops or parameters, in execution order.
function modulesOf(graph) {
  const names = graph.nodes.filter(({ name }) => name.startsWith('forward/')).map(({ name }) => name.slice('forward/'.length));
  return [...new Set(names.map((name) => name.slice(0, Math.max(0, name.lastIndexOf('/')))))];
}

const largeModules = () => Array.from({ length: 500 }, (_, i) => `layers/${Math.floor(i / 10)}/block${i % 10}`);

export class FixtureOverview {
  // `kind`: jobs (grows with the job), large (500 modules, 1,000 steps), off or none (no such routes).
  // `recorded`: without the times of ops.
  constructor(job, kind = 'jobs', { steps = () => job.step, bad = (step) => step % 40 === 3, recorded = false } = {}) {
    this.kind = kind;
    this.recorded = recorded;
    this.graph = job.graph;
    this.large = kind === 'large';
    this.steps = this.large ? () => MAX_STEPS : steps;
    this.isBad = bad;
    this.modules = kind === 'off' ? [] : this.large ? largeModules() : modulesOf(job.graph);
    this.matrices = new Map();
  }

  numbers(after) {
    const last = this.kind === 'off' ? 0 : this.steps();
    const first = Math.max(last - MAX_STEPS, after);
    return Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i + 1);
  }

  bad(module, step) {
    if (this.large) return module >= 300 && step > 700 && (module * 7 + step) % 50 === 0 ? 12 : 0;
    return this.isBad(step) ? (BAD[this.modules[module]] ?? 0) : 0;
  }

  value(measure, module, step) {
    const own = this.modules[module] !== '';
    const decay = Math.exp(-step / (this.large ? 400 : 120));
    const wave = 1 + 0.3 * Math.sin(step / 17 + module) + 0.15 * noise(module, step);
    const depth = module / Math.max(1, this.modules.length - 1);
    switch (measure) {
      case 'activation': return wave * (0.3 + 2 * noise(module, 0));
      case 'zeros': return module % 3 === 2 ? Math.min(1, 0.45 + 0.4 * depth * (1 - decay)) : 0;
      case 'non_finite': return this.bad(module, step);
      case 'gradient': return own ? wave * 10 ** (-4 * (1 - depth)) * (0.1 + decay) : NaN;
      case 'time': return this.recorded ? NaN : (0.5 + 4 * noise(module, 5)) * (0.9 + 0.2 * noise(module, step));
      default: return own && step > 1 && module % 3 !== 2 ? wave * 1e-3 * (0.05 + decay) : NaN;
    }
  }

  overview(rank, after) {
    const steps = this.numbers(after).map((step) => {
      const has_loss = true;
      const loss = this.isBad(step) && !this.large ? null : 2.3 * Math.exp(-step / 150) + 0.08 * noise(7, step);
      const duration_ms = 48 + 8 * noise(3, step) + (step === 1 ? 160 : 0);
      return { step, mode: 'train', time: step * 60e6, duration_ms, measuring_ms: 0.3 + 0.2 * noise(4, step), has_loss, loss };
    });
    return { rank, ranks: this.modules.length === 0 ? [] : [0], modules: this.modules, steps };
  }

  values(measure, after) {
    if (!MEASURES.includes(measure)) throw new Refusal(400, 'bad_argument', `"${measure}" is no measure.`, 'measure');
    const steps = this.numbers(after);
    const shape = `${steps.length},${this.modules.length}`;
    const key = `${measure} ${steps[0]} ${shape}`;
    if (!this.large || !this.matrices.has(key)) {
      this.matrices.set(key, Buffer.from(Float32Array.from(steps.flatMap((step) => this.modules.map((_, module) => this.value(measure, module, step)))).buffer));
    }
    const bytes = this.matrices.get(key);
    if (!this.large) this.matrices.clear();
    return { bytes, headers: { 'X-Graphdbg-Dtype': 'float32', 'X-Graphdbg-Shape': shape, 'X-Graphdbg-Step': steps.at(-1) ?? 0 } };
  }

  module(rank, name) {
    const module = this.modules.indexOf(name);
    if (module < 0) throw new Refusal(404, 'unknown_module', `the overview of rank ${rank} has no module '${name}'`);
    const number = (value) => (Number.isNaN(value) ? null : value);
    const points = this.numbers(0).map((step) => {
      const width = this.value('activation', module, step);
      const mean = 0.2 * Math.sin(step / 30 + module);
      const measures = Object.fromEntries(MEASURES.map((measure) => [measure, number(this.value(measure, module, step))]));
      const quantiles = [-1.6, -0.7, 0, 0.7, 1.6].map((at) => mean + at * width);
      return { step, ...measures, mean, deviation: width, min: mean - width * (3 + 4 * noise(1, step)), max: mean + width * (3 + 9 * noise(2, step)), quantiles };
    });
    return { rank, module: name, points };
  }

  // The ops that a step calls, in this order: those of the graph, or 10,000.
  calls() {
    if (!this.large) return this.graph.nodes.filter(({ kind }) => kind === 'op');
    return Array.from({ length: 10_000 }, (_, i) => {
      const module = this.modules[Math.floor(i / 20) % this.modules.length];
      return { name: `${i < 5000 ? 'forward' : 'backward'}/${module}/op_${i % 20}`, op_type: 'aten::op' };
    });
  }

  // Ops of the backward pass run on a thread of their own.
  ops(rank, wanted) {
    const steps = this.numbers(Math.max(0, this.steps() - OP_STEPS));
    const step = wanted ?? steps.at(-1) ?? 0;
    if (wanted !== null && !steps.includes(wanted)) throw new Refusal(404, 'unknown_step', `the ops of step ${wanted} are not kept`);
    let now = 40;
    const ops = (step === 0 ? [] : this.calls()).map(({ name, op_type }, i) => {
      const start_us = now;
      const duration_us = op_type.includes('conv') ? 900 + 300 * noise(i, step) : 2 + 60 * noise(i, 1) ** 4 * (0.8 + 0.4 * noise(i, step));
      now += duration_us + 1 + 8 * noise(i, 2);
      return { node: name, op_type, thread: name.startsWith('backward/') ? 1 : 0, start_us, duration_us };
    });
    return { rank, step, duration_us: now + 60, steps, ops, left_out: this.large ? 1234 : 0 };
  }

  // Null if the route is not of the overview.
  route(route, query) {
    if (!route.startsWith('GET overview') || this.kind === 'none') return null;
    const [rank, after] = [Number(query.get('rank') ?? 0), Number(query.get('after') ?? 0)];
    switch (route) {
      case 'GET overview': return { body: this.overview(rank, after) };
      case 'GET overview/values': return this.values(query.get('measure'), after);
      case 'GET overview/ops':
        if (this.recorded) throw new Refusal(404, 'not_recorded', 'recordings have no times of single ops');
        return { body: this.ops(rank, query.has('step') ? Number(query.get('step')) : null) };
      case 'GET overview/module': return { body: this.module(rank, query.get('module') ?? '') };
      default: return null;
    }
  }
}
