// A sentence whose numbers stay whole: browsers break lines after the hyphen of "2.9e-10".

const NUMBER = /(\S*\de-\d\S*)/;

export function Prose({ text }: { text: string }) {
  // The pattern is captured, so every second part is a number.
  return text.split(NUMBER).map((part, i) =>
    i % 2 === 0 ? part : (
      <span key={i} className="unbroken">
        {part}
      </span>
    ),
  );
}
