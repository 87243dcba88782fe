/* Loads a SavedModel without Python, runs one signature on the sentences given, and prints the strings it answers.
   usage: load_session SAVED_MODEL INPUT OUTPUT LIBRARIES SENTENCE...
   INPUT is the name of an operation, OUTPUT such a name:index, LIBRARIES how many .so files with operations stand next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensorflow/c/c_api.h>

static void check(TF_Status *status) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

int main(int count, char **arguments) {
  TF_Status *status = TF_NewStatus();
  int libraries = atoi(arguments[4]), first = 5 + libraries;
  for (int i = 5; i < first; i++) {
    TF_LoadLibrary(arguments[i], status);
    check(status);
  }

  TF_Graph *graph = TF_NewGraph();
  TF_SessionOptions *options = TF_NewSessionOptions();
  const char *tags[] = {"serve"};
  TF_Session *session = TF_LoadSessionFromSavedModel(options, NULL, arguments[1], tags, 1, graph, NULL, status);
  check(status);

  int64_t sentences = count - first;
  TF_Tensor *input = TF_AllocateTensor(TF_STRING, &sentences, 1, sentences * sizeof(TF_TString));
  TF_TString *texts = TF_TensorData(input);
  for (int i = 0; i < sentences; i++) {
    TF_StringInit(&texts[i]);
    TF_StringCopy(&texts[i], arguments[first + i], strlen(arguments[first + i]));
  }

  TF_Output feed = {TF_GraphOperationByName(graph, arguments[2]), 0}, fetch = {NULL, 0};
  char *colon = strchr(arguments[3], ':');
  fetch.index = atoi(colon + 1);
  *colon = 0;
  fetch.oper = TF_GraphOperationByName(graph, arguments[3]);
  TF_Tensor *output = NULL;
  TF_SessionRun(session, NULL, &feed, &input, 1, &fetch, &output, 1, NULL, 0, NULL, status);
  check(status);

  const TF_TString *answers = TF_TensorData(output);
  for (int i = 0; i < TF_Dim(output, 0); i++)
    printf("%.*s\n", (int)TF_StringGetSize(&answers[i]), TF_StringGetDataPointer(&answers[i]));
  return 0;
}
