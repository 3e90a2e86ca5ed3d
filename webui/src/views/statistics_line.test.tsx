import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Statistics } from '../api/types';
import { StatisticsLine, StatisticsTable } from './statistics_line';

const STATISTICS: Statistics = {
  count: 2, nan_count: 0, pos_inf_count: 0, neg_inf_count: 0, zero_count: 0, negative_count: 0, positive_count: 2,
  min: 1, max: 9, mean: 5, abs_mean: 5, abs_max: 9, variance: 16, l1: 10, l2: 9.06,
};
const QUANTILES = { p01: 11, p05: 12, p10: 13, p25: 14, p50: 15, p75: 16, p90: 17, p95: 18, p99: 19.5 };

const valueOf = (name: string) => screen.getByText(name).nextElementSibling?.textContent;

describe('quantiles', () => {
  it('are listed in the table; the line has the median and p99', () => {
    const { unmount } = render(<StatisticsTable statistics={{ ...STATISTICS, quantiles: QUANTILES }} old={null} />);
    for (const [name, value] of Object.entries(QUANTILES)) expect(valueOf(name)).toBe(String(value));
    unmount();
    render(<StatisticsLine statistics={{ ...STATISTICS, quantiles: QUANTILES }} old={null} />);
    expect([valueOf('median'), valueOf('p99')]).toEqual(['15', '19.5']);
  });

  it('are left out where they were not computed', () => {
    render(<StatisticsLine statistics={STATISTICS} old={null} />);
    expect(screen.queryByText('p99')).toBeNull();
  });
});
