// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HexFormat;

/** A 64-bit hash of lists, which stands for them in the parameters of a plan. Not thread-safe. */
final class ContentHash {
  private long state;

  ContentHash add(long value) {
    state = Mix64.fold(state, value);
    return this;
  }

  ContentHash add(double value) {
    return add(Double.doubleToLongBits(value));
  }

  ContentHash add(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    add(bytes.length);
    for (byte b : bytes) {
      add(b);
    }
    return this;
  }

  ContentHash add(long[] values) {
    add(values.length);
    for (long value : values) {
      add(value);
    }
    return this;
  }

  ContentHash add(int[] values) {
    add(values.length);
    for (int value : values) {
      add(value);
    }
    return this;
  }

  ContentHash add(double[] values) {
    add(values.length);
    for (double value : values) {
      add(value);
    }
    return this;
  }

  ContentHash add(IndexList list) {
    add(list.length());
    for (int i = 0; i < list.length(); i++) {
      add(list.get(i));
    }
    return this;
  }

  /** The hash of all that was added: 16 hexadecimal digits. */
  String hex() {
    return HexFormat.of().toHexDigits(state);
  }
}
