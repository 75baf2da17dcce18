// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import java.nio.file.Path;

/** A program that opens a package, and prints what it throws. */
final class OpeningProgram {
  private OpeningProgram() {}

  public static void main(String[] args) {
    try (CompiledModel model = CompiledModel.open(Path.of(args[0]))) {
      System.out.println("inputs " + model.inputs());
    } catch (CompiledModelException e) {
      System.out.println(e.problem() + " " + e.getMessage());
    } catch (RuntimeException e) {
      System.out.println(e);
    }
  }
}
