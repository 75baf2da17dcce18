// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Hashes against published values. */
class Mix64Test {
  @Test
  void theFinaliserHasItsPublishedValues() {
    assertThat(Mix64.mix(0)).isZero();
    assertThat(Mix64.mix(1)).isEqualTo(0x5692161D100B05E5L);
    assertThat(Mix64.mix(Mix64.GAMMA)).isEqualTo(0xE220A8397B1DCDAFL);
  }

  @Test
  void theFoldOfOneTwoThreeHasItsPublishedValue() {
    assertThat(Mix64.foldAll(1, 2, 3)).isEqualTo(0xD0734750FDE362B3L);
    assertThat(Mix64.foldAll()).isZero();
  }

  /** Values of the authors of FNV for the 64-bit FNV-1a of these texts. */
  @Test
  void namesHaveTheirPublishedHash() {
    assertThat(Mix64.fnv1a("")).isEqualTo(0xcbf29ce484222325L);
    assertThat(Mix64.fnv1a("a")).isEqualTo(0xaf63dc4c8601ec8cL);
    assertThat(Mix64.fnv1a("foobar")).isEqualTo(0x85944171f73967e8L);
  }
}
