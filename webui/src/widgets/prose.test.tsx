import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { Prose } from './prose';

afterEach(cleanup);

it('keeps numbers in one line, and the text as it is', () => {
  const text = 'Gradient (mean |g| < 1e-9): 2.919e-10, less than -4 of layer-1.';
  const { container } = render(<Prose text={text} />);
  expect(container.textContent).toBe(text);
  expect([...container.querySelectorAll('.unbroken')].map((each) => each.textContent)).toEqual(['1e-9):', '2.919e-10,']);
});
