/** No modules import each other in a circle, types included. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { ROOMS } from './documents.js';

type Graph = ReadonlyMap<string, readonly string[]>;

function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'));
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => path.join(path.dirname(file), fileName).replace(/\.js$/, ''))
    .flatMap((name) => [`${name}.ts`, `${name}.tsx`].filter((one) => existsSync(one)));
}

/** Drops, until none is left, modules that import none of the others: what stays is in or before a circle. */
function inCircles(graph: Graph): string[] {
  const left = new Map(graph);
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const [file, imports] of left)
      if (!imports.some((one) => left.has(one))) left.delete(file);
  }
  return [...left.keys()];
}

function reversed(graph: Graph): Graph {
  const importers = new Map<string, string[]>([...graph.keys()].map((file) => [file, []]));
  for (const [file, imports] of graph) for (const one of imports) importers.get(one)?.push(file);
  return importers;
}

/** The modules of circles, and those between two of them. */
function circles(graph: Graph): string[] {
  const beforeOrIn = new Set(inCircles(graph));
  const within = [...graph].filter(([file]) => beforeOrIn.has(file));
  return inCircles(reversed(new Map(within)));
}

it('finds circles, and nothing that leads into or out of one', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['b']],
    ['d', []],
  ]);
  expect(circles(graph).sort()).toEqual(['b', 'c']);
  expect(
    circles(
      new Map([
        ['a', ['b']],
        ['b', []],
      ]),
    ),
  ).toEqual([]);
});

it('no module imports itself by way of others', () => {
  const files = [...ROOMS, 'bench'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => path.join(folder, name)),
  );
  expect(files.length).toBeGreaterThan(400);
  const found = circles(new Map(files.map((file) => [file, importsOf(file)])));
  expect(found).toEqual([]);
});
