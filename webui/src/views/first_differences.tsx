// The first elements of two tensors that are not close, with both values.

import type { ComparedPair, Comparison } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { toNumber } from '../base/numbers';
import { Notice } from '../widgets/notice';
import * as words from '../words/tensor_views';
import { indexInTensor } from './compare_figures';

interface Props {
  comparison: Comparison;
  // The shape of the tensor on this side.
  shape: readonly number[];
  // Of the other side and of this one.
  titles: readonly [string, string];
  // Goes to an element.
  onGo: (element: ComparedPair) => void;
}

function differenceText({ left, right }: ComparedPair): string {
  const difference = toNumber(left) - toNumber(right);
  return Number.isFinite(difference) ? formatNumber(difference) : '–';
}

export function FirstDifferences({ comparison, shape, titles, onGo }: Props) {
  const { not_close: elements, not_close_count: count, slice } = comparison;
  if (elements.length === 0) return <Notice title={words.noDifferences} />;
  const place = ({ index }: ComparedPair) => `[${indexInTensor(index, slice, shape).join(', ')}]`;
  return (
    <div className="compare-elements" tabIndex={0} role="group" aria-label={words.ways.elements}>
      <table aria-label={words.ways.elements}>
        <caption className="muted">{words.differencesListed(elements.length, formatCount(elements.length), formatCount(count))}</caption>
        <thead>
          <tr>
            <th scope="col">{words.element}</th>
            {titles.map((title) => (
              <th key={title} scope="col" className="number">
                {title}
              </th>
            ))}
            <th scope="col" className="number">
              {words.difference}
            </th>
          </tr>
        </thead>
        <tbody className="mono">
          {elements.map((element) => (
            <tr key={place(element)}>
              <th scope="row">
                <button type="button" className="link mono compare-element" title={words.goToElement} onClick={() => onGo(element)}>
                  {place(element)}
                </button>
              </th>
              <td className="number">{formatNumber(element.right, 9)}</td>
              <td className="number">{formatNumber(element.left, 9)}</td>
              <td className="number">{differenceText(element)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
