// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests of hashes against published values. */
class Hash64Test {
  @Test
  void theFinaliserHasItsPublishedValues() {
    assertThat(Hash64.mix(0)).isZero();
    assertThat(Hash64.mix(1)).isEqualTo(0x5692161D100B05E5L);
    assertThat(Hash64.mix(Hash64.GAMMA)).isEqualTo(0xE220A8397B1DCDAFL);
  }

  @Test
  void theFoldOfOneTwoThreeHasItsPublishedValue() {
    assertThat(Hash64.foldAll(1, 2, 3)).isEqualTo(0xD0734750FDE362B3L);
    assertThat(Hash64.foldAll()).isZero();
  }

  /** Values published by the authors of FNV for 64-bit FNV-1a. */
  @Test
  void fnv1aHasItsPublishedValues() {
    assertThat(Hash64.fnv1a("")).isEqualTo(0xcbf29ce484222325L);
    assertThat(Hash64.fnv1a("a")).isEqualTo(0xaf63dc4c8601ec8cL);
    assertThat(Hash64.fnv1a("foobar")).isEqualTo(0x85944171f73967e8L);
  }
}
