// A recorded run of the fixture server: 40 steps of its graph, whose values were saved each 10.
import { FixtureOverview } from './fixture_overview.mjs';
import { Refusal } from './refusal.mjs';
import { statisticsOf } from './fixture_values.mjs';

const STEPS = 40;
const SAVED_EVERY = 10;
const LOSS = 'forward/log:0';
const HIT_STEPS = [12, 25];
const CHECK_STEPS = [12, 33];

const saved = (step) => step % SAVED_EVERY === 0;

export class FixtureRun {
  checks = new Map();

  // `answer` answers a request about a job.
  constructor(id, job, answer) {
    this.id = id;
    this.job = job;
    this.answer = answer;
    Object.assign(job, { state: 'paused', reason: 'step', node: '', recorded: true });
    job.overview = new FixtureOverview(job, 'jobs', { steps: () => STEPS, bad: (step) => HIT_STEPS.includes(step), recorded: true });
    job.hits = HIT_STEPS.map((step, i) => this.hit(i + 1, step));
  }

  hit(id, step) {
    const node = this.job.graph.byName.get('forward/log');
    return {
      id, watchpoint: 1, rank: 0, step, node: node.name, slot: 0, op_type: node.op_type, order: node.order, condition: 'inf', params: {},
      actual: { neg_inf_count: 3 }, statistics: statisticsOf(node, step), dtype: 'float32', shape: [1], origin: 'origin', absorbed: false,
      source: node.source, error: null, time: new Date().toISOString(),
    };
  }

  info() {
    return {
      ...this.job.info(), id: this.id, name: this.id, state: 'finished', pause_reason: null, step: STEPS, node: '', allowed: ['view'],
      first_step: 1, last_step: STEPS, ended: 'exit', program: 'digits_cnn.py', resumes: null, log_bytes: 12_345_678, last_ops: [],
      user_changes: [{ rank: 0, step: 18, time: new Date().toISOString(), by: 'alice', text: 'learning rate 0.01 -> 0', node: null }],
      damage: [{ file: 'rank-00000/hits.gdbm', reason: 'it is damaged at byte 4096' }],
    };
  }

  steps() {
    const step = (_, i) => ({ step: i + 1, mode: 'train', mode_step: i + 1, passes: 1, begin: new Date().toISOString(), seconds: 0.05, records: 30, dropped: 0, reason: null, ranks: 1 });
    return Array.from({ length: STEPS }, step);
  }

  history(name) {
    const node = this.job.graph.byName.get(name.slice(0, name.lastIndexOf(':')));
    if (node === undefined) throw new Refusal(404, 'unknown_node', `There is no tensor "${name}" in this run.`);
    const mean = (step) => (name === LOSS ? 2.3 * Math.exp(-step / 15) : Math.sin(step));
    const points = this.steps().map(({ step }) => ({ step, statistics: { ...statisticsOf(node, step), mean: mean(step) } }));
    const saved_steps = this.steps().map(({ step }) => step).filter(saved);
    return { name, node: node.name, slot: 0, rank: 0, dtype: 'float32', shape: node.outputs[0].shape, points, buckets: [], saved_steps };
  }

  check(body) {
    const id = String(this.checks.size + 1);
    const hits = body.watchpoint.condition.id === 'inf' ? CHECK_STEPS.map((step, i) => ({ ...this.hit(i + 1, step), evidence: 'statistics' })) : [];
    this.checks.set(id, { state: 'done', done: STEPS, total: STEPS, hits, hit_count: hits.length, not_recorded: 0, error: null });
    return id;
  }

  // This run diverges from the other one at its logarithm, in the step of its second hit.
  divergence() {
    const at = (node, there_node, measure, place) => ({
      step: HIT_STEPS[1], mode: 'train', pass: 1, node, there_node, slot: 0, exec_order: place, measure, here: 1, there: 'Infinity',
      inputs: this.job.graph.byName.get(node).inputs?.map((name) => ({ node: name, there_node: name, slot: 0, state: 'equal', measure: null, here: null, there: null })) ?? [],
      calls: [],
    });
    return {
      steps: HIT_STEPS[1], matched: 1200, only_here: ['forward/head/add:0'], only_there: [], only_here_count: 1, only_there_count: 0,
      first: at('forward/log', 'forward/log', 'max', 30), next: [], renamings: [],
    };
  }

  route(method, rest, query, body, headers) {
    const step = Number(query.get('step') ?? STEPS);
    this.job.step = Number.isInteger(step) ? step : STEPS;
    const check = /^checks\/(\d+)$/.exec(rest);
    if (check && method === 'DELETE') return { status: 204, body: void this.checks.delete(check[1]) };
    if (check) return { body: this.checks.get(check[1]) };
    if (/^tensor(\/histogram|\/compare|\/map)?$/.test(rest) && !saved(this.job.step)) {
      throw new Refusal(404, 'not_recorded', `Values of '${query.get('name')}' were not recorded at step ${this.job.step}.`);
    }
    switch (`${method} ${rest}`) {
      case 'GET ': return { body: this.info() };
      case 'GET steps': return { body: { steps: this.steps(), next_cursor: null } };
      case 'GET collections': return { body: { collections: [{ name: 'losses', level: 'statistics', tensors: [LOSS] }] } };
      case 'GET divergence': return { body: this.divergence() };
      case 'GET tensor/history': return { body: this.history(query.get('name') ?? '') };
      case 'GET watchpoints': return { body: { watchpoints: [] } };
      case 'POST checks': return { status: 202, body: { check_id: this.check(body) } };
      default:
        if (method !== 'GET') throw new Refusal(409, 'invalid_state', 'A recorded run cannot be controlled.');
        return this.answer(this.job, method, rest, query, body, headers);
    }
  }
}
