interface Props {
  values: number[];
  label: string;
  unit: (value: number) => string;
}

const WIDTH = 240;
const HEIGHT = 48;

export function Sparkline({values, label, unit}: Props) {
  const last = values.at(-1);
  if (last === undefined) return null;
  const top = Math.max(...values);
  const scale = top || 1;
  const points = values.map((value, i) => {
    const x = values.length > 1 ? (i * WIDTH) / (values.length - 1) : WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - 3 - (value / scale) * (HEIGHT - 6)).toFixed(1)}`;
  });
  return (
    <figure class="sparkline">
      <figcaption>
        <span>{label}</span> <b>{unit(last)}</b> <span class="detail">at most {unit(top)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={points.join(" ")} />
      </svg>
    </figure>
  );
}
