// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** A set of ASCII characters. */
final class ByteSet {
  private final String characters;
  private final boolean[] contained = new boolean[256];

  ByteSet(String name, String characters) {
    if (characters.isEmpty() || characters.chars().anyMatch(c -> c > 0x7f || c == '\n')) {
      throw new IllegalArgumentException(
          "%s must be one or more ASCII characters other than the newline, got \"%s\""
              .formatted(name, characters));
    }
    this.characters = characters;
    characters.chars().forEach(c -> contained[c] = true);
  }

  /** Returns a set that may have no characters. */
  static ByteSet orNone(String name, String characters) {
    return characters.isEmpty() ? none() : new ByteSet(name, characters);
  }

  /** Returns the set without characters. */
  static ByteSet none() {
    return new ByteSet();
  }

  private ByteSet() {
    characters = "";
  }

  static boolean isBlank(byte b) {
    return b == ' ' || b == '\t';
  }

  boolean contains(byte b) {
    return contained[b & 0xff];
  }

  @Override
  public String toString() {
    return characters;
  }
}
