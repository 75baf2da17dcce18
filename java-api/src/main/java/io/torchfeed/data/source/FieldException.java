// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Thrown when a field of a text file is missing or invalid for its column. */
public final class FieldException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The file; not serializable, unlike its name. */
  private final transient @Nullable Path path;

  /** The path as text. */
  private final String name;

  /** The place in the file. */
  private final String place;

  /** The column. */
  private final String column;

  /** The invalid text. */
  private final String text;

  FieldException(Path path, String place, String column, String text, String problem) {
    super("%s, %s, %s: %s, got \"%s\"".formatted(path, place, column, problem, text));
    this.path = path;
    name = path.toString();
    this.place = place;
    this.column = column;
    this.text = text;
  }

  /**
   * Returns the file.
   *
   * @return its path
   */
  public Path path() {
    return path == null ? Path.of(name) : path;
  }

  /**
   * Returns the place in the file: the number of the line, starting at 1, or the offset of its
   * first byte.
   *
   * @return for example {@code line 7} or {@code byte 120}
   */
  public String place() {
    return place;
  }

  /**
   * Returns the column.
   *
   * @return its name or number
   */
  public String column() {
    return column;
  }

  /**
   * Returns the invalid text: the field, or the whole line if its number of fields is wrong.
   *
   * @return the text, at most its first 200 characters
   */
  public String text() {
    return text;
  }
}
