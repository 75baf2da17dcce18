// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.nio.file.Path;

/** A field of a text file that is missing, or is not what its column holds. */
public final class FieldException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The file. */
  private final String path;

  /** Where in the file. */
  private final String place;

  /** Which column. */
  private final String column;

  /** What stands there. */
  private final String text;

  FieldException(Path path, String place, String column, String text, String problem) {
    super("%s, %s, %s: %s, got \"%s\"".formatted(path, place, column, problem, text));
    this.path = path.toString();
    this.place = place;
    this.column = column;
    this.text = text;
  }

  /**
   * The file.
   *
   * @return its path
   */
  public Path path() {
    return Path.of(path);
  }

  /**
   * Where in the file: the number of the line, from 1 on, or the offset of its first byte.
   *
   * @return for example {@code line 7} or {@code byte 120}
   */
  public String place() {
    return place;
  }

  /**
   * Which column.
   *
   * @return its name or number
   */
  public String column() {
    return column;
  }

  /**
   * What stands there: the field, or the whole line if its number of fields is wrong.
   *
   * @return the text, at most its first 200 characters
   */
  public String text() {
    return text;
  }
}
