package main

import (
    "encoding/json"
    "log"
    "net/http"
)

type JsonRpcRequest struct {
    Jsonrpc string                 `json:"jsonrpc"`
    ID      string                 `json:"id"`
    Method  string                 `json:"method"`
    Params  map[string]interface{} `json:"params"`
}

type JsonRpcResponse struct {
    Jsonrpc string                 `json:"jsonrpc"`
    ID      string                 `json:"id"`
    Result  *JsonRpcResult         `json:"result,omitempty"`
    Error   *JsonRpcError          `json:"error,omitempty"`
}

type JsonRpcResult struct {
    Status    map[string]string        `json:"status"`
    Artifacts []map[string]interface{} `json:"artifacts"`
    History   []map[string]interface{} `json:"history"`
}

type JsonRpcError struct {
    Code    int    `json:"code"`
    Message string `json:"message"`
}

func handleJsonRpc(w http.ResponseWriter, r *http.Request) {
    var req JsonRpcRequest
    if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
        http.Error(w, err.Error(), http.StatusBadRequest)
        return
    }
    
    w.Header().Set("Content-Type", "application/json")
    
    // Validate JSON-RPC structure
    if req.Jsonrpc != "2.0" {
        json.NewEncoder(w).Encode(JsonRpcResponse{
            Jsonrpc: "2.0",
            ID:      req.ID,
            Error: &JsonRpcError{
                Code:    -32600,
                Message: "Invalid Request: jsonrpc must be 2.0",
            },
        })
        return
    }
    
    if req.Method != "message/send" {
        json.NewEncoder(w).Encode(JsonRpcResponse{
            Jsonrpc: "2.0",
            ID:      req.ID,
            Error: &JsonRpcError{
                Code:    -32601,
                Message: "Method not found: " + req.Method,
            },
        })
        return
    }
    
    // Extract input from message parts
    message := req.Params["message"].(map[string]interface{})
    parts := message["parts"].([]interface{})
    firstPart := parts[0].(map[string]interface{})
    inputText := firstPart["text"].(string)
    
    // Parse input
    var inputData map[string]interface{}
    if err := json.Unmarshal([]byte(inputText), &inputData); err != nil {
        inputData = map[string]interface{}{"text": inputText}
    }
    
    // Process the task
    result, err := processTask(inputData)
    
    if err != nil {
        json.NewEncoder(w).Encode(JsonRpcResponse{
            Jsonrpc: "2.0",
            ID:      req.ID,
            Error: &JsonRpcError{
                Code:    -32603,
                Message: "Internal error: " + err.Error(),
            },
        })
        return
    }
    
    // Convert result to JSON string
    resultBytes, _ := json.Marshal(result)
    resultText := string(resultBytes)
    
    // Build JSON-RPC response
    json.NewEncoder(w).Encode(JsonRpcResponse{
        Jsonrpc: "2.0",
        ID:      req.ID,
        Result: &JsonRpcResult{
            Status: map[string]string{
                "state": "completed",
            },
            Artifacts: []map[string]interface{}{
                {
                    "parts": []map[string]interface{}{
                        {
                            "kind": "text",
                            "text": resultText,
                        },
                    },
                },
            },
            History: []map[string]interface{}{
                {
                    "role": "user",
                    "parts": []map[string]interface{}{
                        {"kind": "text", "text": inputText},
                    },
                },
                {
                    "role": "agent",
                    "parts": []map[string]interface{}{
                        {"kind": "text", "text": resultText},
                    },
                },
            },
        },
    })
}

func processTask(input map[string]interface{}) (map[string]interface{}, error) {
    query := input["query"].(string)
    return map[string]interface{}{
        "result": "Processed: " + query,
    }, nil
}

func main() {
    http.HandleFunc("/agent", handleJsonRpc)
    log.Fatal(http.ListenAndServe(":8080", nil))
}
