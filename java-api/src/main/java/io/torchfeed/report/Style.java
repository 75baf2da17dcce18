// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

/** The style of the page, for light and dark screens, wide and narrow. */
final class Style {
  static final String CSS =
      """
      :root { color-scheme: light dark; --page: #f9f9f7; --card: #fcfcfb; --ink: #0b0b0b;
        --soft: #52514e; --grid: #e1e0d9; --edge: #d5d4cc; --c0: #2a78d6; --c1: #eb6834;
        --c2: #1baf7a; --c3: #8a6fd1; --c4: #8b8a83; }
      @media (prefers-color-scheme: dark) { :root { --page: #0d0d0d; --card: #1a1a19;
        --ink: #ffffff; --soft: #c3c2b7; --grid: #2c2c2a; --edge: #3b3a37; --c0: #3987e5;
        --c1: #d95926; --c2: #199e70; --c3: #9085e9; --c4: #8e8d86; } }
      * { box-sizing: border-box; }
      body { margin: 0; background: var(--page); color: var(--ink);
        font: 15px/1.5 system-ui, sans-serif; }
      main { max-width: 1280px; margin: 0 auto; padding: 16px; }
      h1 { font-size: 24px; line-height: 1.25; margin: 8px 0 2px; overflow-wrap: anywhere; }
      h2 { font-size: 18px; margin: 32px 0 8px; overflow-wrap: anywhere; }
      h3 { font-size: 14px; margin: 0 0 4px; overflow-wrap: anywhere; }
      p { margin: 4px 0 8px; color: var(--soft); }
      .tiles, .charts { display: grid; gap: 12px; }
      .tiles { grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); margin: 16px 0; }
      .charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 350px), 1fr)); }
      .tile, figure { background: var(--card); border: 1px solid var(--edge);
        border-radius: 8px; padding: 12px; margin: 0; min-width: 0; }
      .tile b { display: block; font-size: 20px; font-weight: 600; overflow-wrap: anywhere; }
      .tile span, figcaption { color: var(--soft); font-size: 13px; }
      figcaption { overflow-wrap: anywhere; }
      svg { display: block; width: 100%; height: auto; overflow: visible; }
      svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
      .bars { max-width: 560px; }
      .grid { stroke: var(--grid); stroke-width: 1; }
      .change { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
      .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
      .s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); }
      .s3 { stroke: var(--c3); }
      .f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); }
      .f3 { fill: var(--c3); } .f4 { fill: var(--c4); }
      .band { opacity: 0.18; }
      .key { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0 0 6px; padding: 0;
        list-style: none; color: var(--soft); font-size: 13px; }
      .key svg { display: inline-block; width: 10px; height: 10px; margin-right: 5px; }
      .wide { overflow-x: auto; }
      table { border-collapse: collapse; font-size: 13px; width: 100%; }
      th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--grid);
        font-variant-numeric: tabular-nums; vertical-align: top; overflow-wrap: anywhere; }
      th { color: var(--soft); font-weight: 600; overflow-wrap: normal; }
      details { margin-top: 6px; } summary { cursor: pointer; color: var(--soft);
        font-size: 13px; }
      @media (max-width: 480px) { main { padding: 10px; }
        .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); } .tile b { font-size: 17px; } }
      """;

  private Style() {}
}
