package main

import (
    "encoding/json"
    "log"
    "net/http"
)

type SimpleRequest struct {
    TaskID string                 `json:"task_id"`
    Input  map[string]interface{} `json:"input"`
}

type SimpleResponse struct {
    TaskID string                 `json:"task_id"`
    Status string                 `json:"status"`
    Output map[string]interface{} `json:"output"`
    Error  *string                `json:"error"`
}

func handleTask(w http.ResponseWriter, r *http.Request) {
    var req SimpleRequest
    if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
        http.Error(w, err.Error(), http.StatusBadRequest)
        return
    }
    
    result, err := processTask(req.Input)
    
    w.Header().Set("Content-Type", "application/json")
    
    if err != nil {
        errMsg := err.Error()
        json.NewEncoder(w).Encode(SimpleResponse{
            TaskID: req.TaskID,
            Status: "error",
            Output: nil,
            Error:  &errMsg,
        })
        return
    }
    
    json.NewEncoder(w).Encode(SimpleResponse{
        TaskID: req.TaskID,
        Status: "success",
        Output: result,
        Error:  nil,
    })
}

func processTask(input map[string]interface{}) (map[string]interface{}, error) {
    query := input["query"].(string)
    return map[string]interface{}{
        "result": "Processed: " + query,
    }, nil
}

func main() {
    http.HandleFunc("/agent", handleTask)
    log.Fatal(http.ListenAndServe(":8080", nil))
}
