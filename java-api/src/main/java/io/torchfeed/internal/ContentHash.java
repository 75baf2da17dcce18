// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HexFormat;

/** A 64-bit hash of lists, which represents them in the parameters of a plan. Not thread-safe. */
public final class ContentHash {
  private long state;

  public ContentHash add(long value) {
    state = Hash64.fold(state, value);
    return this;
  }

  public ContentHash add(double value) {
    return add(Double.doubleToLongBits(value));
  }

  public ContentHash add(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    add(bytes.length);
    for (byte b : bytes) {
      add(b);
    }
    return this;
  }

  public ContentHash add(long[] values) {
    add(values.length);
    for (long value : values) {
      add(value);
    }
    return this;
  }

  public ContentHash add(int[] values) {
    add(values.length);
    for (int value : values) {
      add(value);
    }
    return this;
  }

  public ContentHash add(double[] values) {
    add(values.length);
    for (double value : values) {
      add(value);
    }
    return this;
  }

  public ContentHash add(IndexList list) {
    add(list.length());
    for (int i = 0; i < list.length(); i++) {
      add(list.get(i));
    }
    return this;
  }

  /** Returns the hash of everything added, as 16 hexadecimal digits. */
  public String hex() {
    return HexFormat.of().toHexDigits(state);
  }
}
