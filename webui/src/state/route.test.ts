import { describe, expect, it } from 'vitest';
import { formatRoute, jobRoute, parseRoute, type Route } from './route';

describe('addresses', () => {
  it('name recorded runs apart from jobs', () => {
    const route = parseRoute('#/runs/abc%20d?step=7');
    expect(route).toEqual({ view: 'job', route: { ...jobRoute('runs/abc d'), step: '7' } });
    expect(formatRoute(route)).toBe('#/runs/abc%20d?step=7');
  });

  it('come back as they were', () => {
    const route: Route = {
      view: 'job',
      route: {
        job: 'digits-1',
        graph: 'decoder model&1',
        rank: 2,
        node: 'forward/a b,c&d=e?#%/log',
        slot: 'in0',
        step: 'previous',
        slice: '[0, :, 1:3]',
        panel: 'compare',
        against: 'tensor:forward/relu:0',
        compare: 'other-run:1',
        terms: 'rtol=0.001&by=digest',
        beside: true,
        around: 2,
        overview: 'gradient',
        open: ['forward', 'forward/x,y'],
      },
    };
    expect(parseRoute(formatRoute(route))).toEqual(route);
  });

  it('tell "nothing open" from "not said"', () => {
    const closed: Route = { view: 'job', route: { ...jobRoute('j'), open: [] } };
    expect(parseRoute(formatRoute(closed))).toEqual(closed);
    expect(parseRoute('#/jobs/j')).toEqual({ view: 'job', route: jobRoute('j') });
  });

  it('stay readable', () => {
    const route = { ...jobRoute('j'), node: 'forward/fc1/addmm', slice: '[0]', open: ['forward/fc1'] };
    expect(formatRoute({ view: 'job', route })).toBe(
      '#/jobs/j?node=forward/fc1/addmm&slice=[0]&open=forward/fc1',
    );
  });

  it('name a program that is starting', () => {
    const starting: Route = { view: 'starting', name: 'my train?.py' };
    expect(parseRoute(`${formatRoute(starting)}?code=abc`)).toEqual(starting);
  });

  it('that mean nothing lead home', () => {
    for (const fragment of ['', '#', '#/', '#/nonsense', '#/jobs/']) {
      expect(parseRoute(fragment)).toEqual({ view: 'jobs' });
    }
  });

  it('with broken escapes or ranks do no harm', () => {
    expect(parseRoute('#/jobs/j?node=%E0%A4%A&rank=-3')).toMatchObject({
      route: { node: '%E0%A4%A', rank: 0 },
    });
  });
});
