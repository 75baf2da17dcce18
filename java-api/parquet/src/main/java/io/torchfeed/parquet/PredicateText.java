// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.reader.FilterPredicate;
import java.lang.reflect.Array;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;

/** Texts of predicates, since Hardwood's records do not show the elements of arrays. */
final class PredicateText {
  private PredicateText() {}

  /** Returns a text that is equal for equal predicates, in every process. */
  static String of(FilterPredicate predicate) {
    return text(predicate);
  }

  private static String text(Object value) {
    List<String> parts = new ArrayList<>();
    if (value instanceof Record) {
      for (RecordComponent component : value.getClass().getRecordComponents()) {
        try {
          parts.add(text(component.getAccessor().invoke(value)));
        } catch (ReflectiveOperationException e) {
          throw new IllegalStateException("a predicate of Hardwood's must be readable", e);
        }
      }
      return value.getClass().getSimpleName() + parts;
    } else if (value instanceof Iterable<?> all) {
      all.forEach(each -> parts.add(text(each)));
      return parts.toString();
    } else if (value.getClass().isArray()) {
      for (int i = 0; i < Array.getLength(value); i++) {
        parts.add(text(Array.get(value, i)));
      }
      return parts.toString();
    }
    return value.toString();
  }
}
