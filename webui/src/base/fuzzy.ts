// Scores how well the typed letters match a text. All must occur in order, else the score is 0;
// letters that start a word or follow each other directly score more.
export function fuzzyScore(typed: string, text: string): number {
  const wanted = typed.toLowerCase().replaceAll(/\s+/g, '');
  const lower = text.toLowerCase();
  if (wanted === '') return 1;
  const whole = lower.indexOf(typed.trim().toLowerCase());
  if (whole >= 0) return 1000 - whole;
  let score = 0;
  let at = -1;
  for (const letter of wanted) {
    const next = lower.indexOf(letter, at + 1);
    if (next < 0) return 0;
    const begins = next === 0 || /\W/.test(lower[next - 1] ?? '');
    score += 1 + (begins ? 8 : 0) + (next === at + 1 ? 4 : 0);
    at = next;
  }
  return score;
}
