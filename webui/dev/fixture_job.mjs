// A job that simulates training: runs over its graph, pauses at watchpoints and on command,
// and notifies its listeners.
import { buildGraph } from './fixture_graph.mjs';
import { jsonNumber, statisticsOf } from './fixture_values.mjs';

const LAST_STEP = 500;
const STEP_MS = 60;

export class FixtureJob {
  events = [];
  listeners = new Set();
  watchpoints = new Map();
  hits = [];
  nextWatchpoint = 1;
  nextCommand = 1;
  command = null;
  // Index of the op that ran last; -1 before the first of a step.
  at = -1;
  step = 0;
  state = 'paused';
  reason = 'start';
  node = '';
  stopped_by = [];
  target = null;
  steps_left = 0;
  timer = null;
  recommended = false;
  controller = null;
  // Fields of the job that show how far it can be trusted and changed.
  trust = {};

  constructor(id, name, { blocks = 2, delay = 0, burst = 0, dropped = 0, ranks = 1, graph = 'cnn' } = {}) {
    this.burst = burst;
    this.dropped = dropped;
    this.world_size = ranks;
    this.id = id;
    this.name = name;
    this.delay = delay;
    this.created_at = new Date().toISOString();
    this.framework = graph === 'model' ? 'onnx' : 'pytorch';
    this.graph = buildGraph(blocks, graph);
    this.ops = this.graph.nodes.filter((node) => node.kind === 'op');
    this.emit('job', { info: this.info() });
    this.emit('graph', { node_count: this.graph.nodes.length });
  }

  info() {
    const rank = (number) => ({ rank: number, host: 'gpu-node-07', pid: 48213, peer: '127.0.0.1:51544', device: 'cpu', device_id: 0, state: this.state, step: this.step, node: this.node });
    return {
      id: this.id, name: this.name, framework: this.framework, framework_version: '2.13.0', state: this.state,
      pause_reason: this.state === 'paused' ? this.reason : null, step: this.step, node: this.node, world_size: this.world_size,
      created_at: this.created_at, ranks: Array.from({ length: this.world_size }, (_, i) => rank(i)), hit_count: this.hits.length, absorbed_hit_count: 0, kept_hit_count: this.hits.length, dropped_hit_count: this.dropped, recommended_offered: !this.recommended && this.state !== 'finished',
      stopped_by: this.stopped_by, unchecked_watchpoints: [], exit_code: this.state === 'finished' ? 0 : null, exception: null,
      controller: this.controller, ...this.trust,
    };
  }

  emit(type, fields) {
    const event = { seq: this.events.length + 1, type, job: this.id, rank: 0, time: new Date().toISOString(), ...fields };
    this.events.push(event);
    for (const listener of this.listeners) listener(event);
  }

  snapshot() {
    return { type: 'snapshot', seq: this.events.length, job: this.id, info: this.info(), watchpoints: [...this.watchpoints.values()], hits: this.hits.slice(-1000) };
  }

  // The command takes effect after a short delay, as over a network.
  control(verb, body) {
    const command_id = `c${this.nextCommand++}`;
    const { steps = 1, node = null, rank = null } = body;
    const order = { command: verb, steps: verb === 'step' ? steps : null, node, rank, client: 'browser', peer: '127.0.0.1:51544' };
    this.emit('command', { command_id, command: order });
    setTimeout(() => this.apply(verb, body, command_id), this.delay);
    return command_id;
  }

  apply(verb, body, command_id) {
    clearTimeout(this.timer);
    this.stopped_by = [];
    if (verb === 'terminate') this.enter('terminated', null, command_id);
    else if (verb === 'pause') this.enter('paused', 'user', command_id);
    else {
      this.steps_left = verb === 'step' ? (body.steps ?? 1) : Infinity;
      this.target = verb === 'continue_to' ? body.node : null;
      this.single = verb === 'next_node';
      this.enter('running', null, command_id);
      this.timer = setTimeout(() => this.advance(), verb === 'continue' ? STEP_MS : 5);
    }
  }

  enter(state, reason, command_id = null, node = this.node) {
    Object.assign(this, { state, reason, node });
    this.emit('state', { info: this.info(), command_id, error: null });
  }

  // Runs ops until the job has to pause or the step ends.
  advance() {
    if (this.state !== 'running') return;
    if (this.at < 0) this.step += 1;
    while (this.at + 1 < this.ops.length) {
      this.at += 1;
      const node = this.ops[this.at];
      const fired = this.check(node);
      if (fired.length > 0) {
        this.stopped_by = fired;
        this.enter('paused', 'watchpoint', null, node.name);
        return;
      }
      if (this.single || node.name === this.target) {
        this.enter('paused', 'node', null, node.name);
        return;
      }
    }
    this.at = -1;
    this.steps_left -= 1;
    if (this.step >= LAST_STEP) this.enter('finished', null, null, '');
    else if (this.steps_left <= 0) this.enter('paused', 'step', null, '');
    else {
      this.node = '';
      this.emit('state', { info: this.info(), command_id: null, error: null });
      this.timer = setTimeout(() => this.advance(), STEP_MS);
    }
  }

  // Produces the configured burst of hits, all at once.
  hitOften(watchpoint, node) {
    const statistics = statisticsOf(node, this.step);
    for (; this.burst > 0; this.burst -= 1) {
      const hit = this.hitOf(watchpoint, this.ops[this.burst % this.ops.length], { nan_count: 1 }, statistics);
      this.hits.push({ ...hit, step: 1 + Math.floor(this.hits.length / 100) });
      this.emit('hit', { hit: this.hits.at(-1) });
    }
  }

  hitOf(watchpoint, node, actual, statistics) {
    return {
      id: this.hits.length + 1, watchpoint: watchpoint.id, rank: 0, step: this.step, node: node.name, slot: 0, op_type: node.op_type, order: node.order,
      condition: watchpoint.condition.id, params: watchpoint.condition.params, actual, statistics,
      origin: node.name === 'forward/log' ? 'origin' : 'propagated', absorbed: false, source: node.source, error: null, message: null, time: new Date().toISOString(),
    };
  }

  check(node) {
    const fired = [];
    for (const watchpoint of this.watchpoints.values()) {
      if (!watchpoint.enabled || !covers(watchpoint, node)) continue;
      this.hitOften(watchpoint, node);
      const statistics = statisticsOf(node, this.step);
      const actual = holds(watchpoint.condition, statistics);
      if (actual === null) continue;
      watchpoint.hit_count += 1;
      this.hits.push(this.hitOf(watchpoint, node, actual, statistics));
      this.emit('hit', { hit: this.hits.at(-1) });
      this.emit('watchpoint', { watchpoint: { ...watchpoint } });
      if (watchpoint.pause === 'node') fired.push(watchpoint.id);
    }
    return fired;
  }

  addWatchpoint(spec) {
    const watchpoint = { id: this.nextWatchpoint++, ...spec, hit_count: 0, error: null };
    watchpoint.node_count = this.countNodes(watchpoint);
    this.watchpoints.set(watchpoint.id, watchpoint);
    this.emit('watchpoint', { watchpoint: { ...watchpoint } });
    return watchpoint;
  }

  countNodes(spec) {
    const lists = { nodes: [], scopes: [], patterns: [], categories: [], ...spec };
    return this.ops.filter((node) => covers(lists, node)).length;
  }

  // A short version of the server's recommended set.
  addRecommended() {
    const made = ['nan', 'inf'].map((id) => this.addWatchpoint({ condition: { id, params: {} }, nodes: [], scopes: [], patterns: [], categories: ['gradient'], pause: 'node', enabled: true }));
    this.recommended = true;
    this.emit('state', { info: this.info(), command_id: null, error: null });
    return { watchpoints: [...this.watchpoints.values()], made: made.map((one) => one.id) };
  }

  changeWatchpoint(id, change) {
    const watchpoint = Object.assign(this.watchpoints.get(id), change);
    this.emit('watchpoint', { watchpoint: { ...watchpoint } });
    return watchpoint;
  }

  removeWatchpoint(id) {
    this.watchpoints.delete(id);
    this.emit('watchpoint', { watchpoint: null, id });
  }

  watched(name) {
    const node = this.graph.byName.get(name);
    return [...this.watchpoints.values()].some((w) => w.enabled && covers(w, node));
  }
}

function matches(pattern, name) {
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('**', '\u0000').replaceAll('*', '[^/]*').replaceAll('?', '.').replaceAll('\u0000', '.*');
  return new RegExp(`^${source}$`).test(name);
}

function covers(watchpoint, node) {
  const { nodes, scopes, patterns, categories } = watchpoint;
  if (nodes.length + scopes.length + patterns.length + categories.length === 0) return true;
  return (
    nodes.includes(node.name) ||
    scopes.some((scope) => node.name.startsWith(`${scope}/`)) ||
    patterns.some((pattern) => matches(pattern, node.name)) ||
    categories.includes(node.category)
  );
}

// The measured values if the condition matches, or null.
function holds({ id, params }, s) {
  const inf = s.pos_inf_count + s.neg_inf_count;
  if (id === 'nan') return s.nan_count > 0 ? { nan_count: s.nan_count } : null;
  if (id === 'inf') return inf > 0 ? { inf_count: inf } : null;
  if (id === 'overflow') return s.nan_count + inf > 0 ? { nan_count: s.nan_count, inf_count: inf } : null;
  const [, statistic, relation] = /^(.*)_(gt|lt)$/.exec(id);
  const value = s[statistic];
  if (value === null) return null;
  return (relation === 'gt' ? value > params.value : value < params.value) ? { [statistic]: jsonNumber(value) } : null;
}
