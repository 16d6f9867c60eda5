/** The sections of docs/api.md that describe an endpoint each. */
import { type Block, blocksOf, type Document } from './documents.js';

export interface Section {
  /** Method and path: `GET /score/:address`. */
  title: string;
  /** What follows the heading, up to the next endpoint or part of the document. */
  text: string;
  blocks: Block[];
}

export function sectionsOf({ text }: Document): Section[] {
  return text
    .split(/^(?=##? )/m)
    .filter((section) => /^## (GET|POST) /.test(section))
    .map((section) => {
      const [heading, ...lines] = section.split('\n');
      const own = lines.join('\n');
      return { title: heading.slice('## '.length), text: own, blocks: blocksOf(own) };
    });
}
