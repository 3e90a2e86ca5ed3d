// Trainings of the machine: processes that can be attached to, each of which is a job then.
import { Refusal } from './refusal.mjs';

const HOST = 'gpu-node-07';

export class FixtureTrainings {
  constructor(trust, jobs) {
    this.trust = trust;
    this.jobs = jobs;
    const training = (pid, script, job, server) => ({
      pid, script, rank: null, framework: 'pytorch', framework_version: '2.13.0', started_at: new Date(Date.now() - 7_200_000).toISOString(), job, server,
    });
    this.list = [
      training(48213, 'digits_cnn.py', 'digits-1', null),
      training(50110, 'finetune.py', null, null),
      training(50877, 'asleep.py', null, null),
      training(51002, 'elsewhere.py', 'nightly', 'http://127.0.0.1:9090'),
    ];
  }

  // Null for other routes.
  route(method, path) {
    if (method === 'GET' && path === '/trainings') {
      this.trust.require('admin');
      return { body: { host: HOST, trainings: this.list } };
    }
    const match = /^\/trainings\/(\d+)\/(attach|detach)$/.exec(path);
    if (match === null || method !== 'POST') return null;
    this.trust.require('admin');
    const training = this.list.find(({ pid }) => pid === Number(match[1]));
    if (training === undefined) throw new Refusal(404, 'unknown_training', `The server’s user has no process ${match[1]} here.`);
    return match[2] === 'attach' ? this.attach(training) : this.detach(training);
  }

  attach(training) {
    if (training.script === 'asleep.py') throw new Refusal(409, 'cannot_attach', `process ${training.pid} is stopped (SIGSTOP); kill -CONT ${training.pid} first`);
    training.job = 'digits-1';
    return { status: 201, body: { job: training.job, message: 'attached' } };
  }

  detach(training) {
    this.jobs.get(training.job)?.enter('finished', null);
    training.job = null;
    return { body: { message: 'detached; nothing is left' } };
  }
}
